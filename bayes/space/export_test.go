package space

// SetMaxNodes lowers MaxNodes and returns a function that puts it back.
func SetMaxNodes(n int) func() {
	old := maxNodes
	maxNodes = n
	return func() { maxNodes = old }
}
