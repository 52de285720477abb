package bayes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"syscall"
)

// JSONLines is a Store in a file of JSON lines: a header, then a record each
// time a trial is asked or told; the last record of an ID counts. Only one
// process at a time can hold the file.
type JSONLines struct {
	f     *os.File
	study string
	end   int64 // of the last whole line
}

// OpenJSONLines opens or creates the file, which keeps the study of that name and no other.
func OpenJSONLines(path, study string) (*JSONLines, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("trial store: %w; name another file", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("trial store %s: another process holds it: %w; name another file", path, err), f.Close())
	}
	return &JSONLines{f: f, study: study}, nil
}

// Begin implements Store. A last line without its end, which a killed process
// leaves, is cut off; any other line that does not read is an error.
func (s *JSONLines) Begin(_ context.Context, h Header) (Header, []Record, error) {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return h, nil, err
	}
	stored, records, end, rest, err := s.read()
	if err != nil {
		return h, nil, err
	}
	if n := min(len(rest), len(headerStart)); stored == nil && !bytes.Equal(rest[:n], headerStart[:n]) {
		return h, nil, fmt.Errorf("trial store %s: %w; name another file", s.f.Name(), errNotOurs)
	}
	if stored != nil && stored.Study != "" && stored.Study != s.study {
		return h, nil, fmt.Errorf("%w: %s", ErrMismatch, stored.Study)
	}
	s.end = end
	if err := s.cut(); err != nil {
		return h, nil, err
	}
	h.Study = s.study
	if stored == nil {
		return h, nil, s.append(h)
	}
	out := make([]Record, 0, len(records))
	for _, r := range records {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return *stored, out, nil
}

// headerStart is how every header begins.
var headerStart = []byte(`{"version":`)

// cut takes away what follows the last whole line.
func (s *JSONLines) cut() error {
	if err := s.f.Truncate(s.end); err != nil {
		return fmt.Errorf("trial store: %w", err)
	}
	_, err := s.f.Seek(s.end, io.SeekStart)
	return err
}

// read gives what is there up to end, and the rest, which has no end of a line.
func (s *JSONLines) read() (header *Header, records map[int]Record, end int64, rest []byte, err error) {
	records = map[int]Record{}
	r := bufio.NewReader(s.f)
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return header, records, end, text, nil
		}
		if err != nil {
			return nil, nil, 0, nil, err
		}
		end += int64(len(text))
		if header == nil {
			header = new(Header)
			err = decode(text, header)
		} else {
			var rec Record
			if err = decode(text, &rec); err == nil {
				records[rec.ID] = rec
			}
		}
		if err != nil {
			return nil, nil, 0, nil, fmt.Errorf("trial store %s, line %d: %w", s.f.Name(), line, err)
		}
	}
}

func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// append writes a line, all of it or, where that fails, none.
func (s *JSONLines) append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := s.f.Write(text); err != nil {
		return errors.Join(fmt.Errorf("trial store: %w", err), s.cut())
	}
	s.end += int64(len(text))
	return s.f.Sync()
}

// Put implements Store.
func (s *JSONLines) Put(_ context.Context, r Record) error { return s.append(r) }

// Close implements Store.
func (s *JSONLines) Close() error { return s.f.Close() }
