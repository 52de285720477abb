package command

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/protuner/protuner/bayes"
)

// parse reads the result of a program that ended well. Its last line that is
// not blank is either a JSON object with the objective and, if the program
// likes, "deviation", "feasible" and "message"; or text whose last number is the objective.
// When that line holds no number, earlier lines are looked at.
func (e *Evaluator) parse(out []byte) bayes.Outcome {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return bayes.Failure(bayes.Crashed, "it ended well but printed no result")
	}
	if strings.HasPrefix(last, "{") {
		return e.parseObject(last)
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if v, ok := lastNumber(lines[i]); ok {
			return value(v)
		}
	}
	return bayes.Failure(bayes.Crashed, fmt.Sprintf("there is no number in its output, which ends in %.80q", last))
}

func value(v float64) bayes.Outcome {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return bayes.Failure(bayes.Crashed, fmt.Sprintf("its result is %v", v))
	}
	return bayes.Value(v)
}

// lastNumber finds the last word of a line that reads as a number, apart from
// punctuation and a unit around it.
func lastNumber(line string) (float64, bool) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t,;:=()[]\"'", r) })
	for i := len(words) - 1; i >= 0; i-- {
		if v, err := strconv.ParseFloat(words[i], 64); err == nil || math.IsInf(v, 0) {
			return v, true
		}
		trimmed := strings.TrimRight(words[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµ/%.")
		if v, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return v, true
		}
	}
	return 0, false
}

func (e *Evaluator) parseObject(text string) bayes.Outcome {
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return bayes.Failure(bayes.Crashed, fmt.Sprintf("its last line is no JSON object: %v", err))
	}
	message, _ := m["message"].(string)
	for _, field := range []string{e.o.FeasibleField, "feasible"} {
		if v, ok := m[field]; ok && field != "" {
			if !e.feasible(v) {
				return bayes.Failure(bayes.Infeasible, message)
			}
			break
		}
	}
	for _, field := range []string{e.o.Field, "value"} {
		v, ok := m[field]
		if !ok || field == "" {
			continue
		}
		switch v := v.(type) {
		case float64:
			return deviating(value(v), m)
		case string: // JSON has no NaN; programs write it as text
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				return deviating(value(f), m)
			}
		}
		return bayes.Failure(bayes.Crashed, fmt.Sprintf("%q in its result is %v, not a number", field, v))
	}
	return bayes.Failure(bayes.Crashed, fmt.Sprintf("its result %.80s has no %q", text, e.field()))
}

// deviating adds the standard deviation of the value, where the object has one.
func deviating(o bayes.Outcome, m map[string]any) bayes.Outcome {
	if d, ok := m["deviation"].(float64); ok && o.Status == bayes.OK && d > 0 {
		o.Deviation = d
	}
	return o
}

func (e *Evaluator) field() string {
	if e.o.Field != "" {
		return e.o.Field
	}
	return "value"
}

func (e *Evaluator) feasible(v any) bool {
	s := fmt.Sprint(v)
	return strings.EqualFold(s, e.o.FeasibleTrue) || v == true
}
