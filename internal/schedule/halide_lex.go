package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// cxxToken is one token of the C++ that schedule files are written in.
type cxxToken struct {
	kind cxxKind
	text string // identifiers with their qualification ("TailStrategy::RoundUp"); strings decoded
	line int    // from 1
}

type cxxKind uint8

const (
	cxxEnd cxxKind = iota
	cxxName
	cxxNumber
	cxxString
	cxxPunct // one byte
)

func (t cxxToken) String() string {
	switch t.kind {
	case cxxEnd:
		return "the end"
	case cxxString:
		return strconv.Quote(t.text)
	}
	return t.text
}

// HalideError says where a .schedule.h could not be read or does not fit the
// pipeline. Line counts from 1.
type HalideError struct {
	Line int
	Msg  string
}

func (e *HalideError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

func halideErrorf(line int, format string, args ...any) error {
	return &HalideError{Line: line, Msg: fmt.Sprintf(format, args...)}
}

// lexHalide takes the source apart. Comments and preprocessor lines are dropped;
// "::" joins names, a leading one and the namespace Halide are dropped; $ is a
// letter, as the compilers that read these files have it.
func lexHalide(src string) ([]cxxToken, error) {
	var out []cxxToken
	line := 1
	lineStart := true
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			line++
			i++
			lineStart = true
			continue
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case c == '#' && lineStart:
			i = endOfLine(src, i)
			continue
		case strings.HasPrefix(src[i:], "//"):
			i = endOfLine(src, i)
			continue
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return nil, halideErrorf(line, "a comment that does not end")
			}
			line += strings.Count(src[i:i+2+end], "\n")
			i += end + 4
			continue
		case c == '"':
			text, n, ok := lexString(src[i:])
			if !ok {
				return nil, halideErrorf(line, "a string that does not end or has an escape not known here")
			}
			out = append(out, cxxToken{cxxString, text, line})
			i += n
		case isDigit(c):
			end := i
			for end < len(src) && (isNameByte(src[end]) || src[end] == '.') {
				end++
			}
			out = append(out, cxxToken{cxxNumber, src[i:end], line})
			i = end
		case isNameByte(c) || strings.HasPrefix(src[i:], "::"):
			end := i
			for end < len(src) && (isNameByte(src[end]) || strings.HasPrefix(src[end:], "::")) {
				if src[end] == ':' {
					end++
				}
				end++
			}
			name := strings.TrimPrefix(strings.TrimPrefix(src[i:end], "::"), "Halide::")
			out = append(out, cxxToken{cxxName, name, line})
			i = end
		default:
			out = append(out, cxxToken{cxxPunct, string(c), line})
			i++
		}
		lineStart = false
	}
	return append(out, cxxToken{cxxEnd, "", line}), nil
}

// endOfLine gives the index of the newline that ends the line at i.
func endOfLine(src string, i int) int {
	if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

// lexString decodes a string literal at the start of src and gives its length.
func lexString(src string) (text string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(src); i++ {
		switch c := src[i]; c {
		case '"':
			return b.String(), i + 1, true
		case '\n':
			return "", 0, false
		case '\\':
			value := 0
			k := 0
			for ; k < 3 && i+1+k < len(src) && src[i+1+k] >= '0' && src[i+1+k] <= '7'; k++ {
				value = value*8 + int(src[i+1+k]-'0')
			}
			switch {
			case k > 0 && value < 256:
				b.WriteByte(byte(value))
				i += k
			case k == 0 && i+1 < len(src) && (src[i+1] == '"' || src[i+1] == '\\'):
				b.WriteByte(src[i+1])
				i++
			default:
				return "", 0, false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}
