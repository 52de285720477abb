// What a kernel gets: a sparse matrix or tensor as compressed segments, dense
// operands and the result.
enum { RANK = 32 };  // columns of the dense matrices

struct data {
    int n, m, k;       // rows, columns, and the third dimension
    int *fptr, *fidx;  // tensors: row -> fibres, fibre -> its second index
    int *ptr, *idx;    // row or fibre -> positions, position -> its last index
    float *val;        // position -> value
    float *b, *c;      // dense operands
    float *out;        // result, 0 before
    unsigned long length;
};

typedef void kernel_function(struct data *d, const int *q);

static inline int least(int a, int b) { return a < b ? a : b; }
