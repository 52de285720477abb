package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/protuner/protuner/internal/tune"
)

// Write puts report.md and report.json beside the winner's files and names them in
// the report.
func Write(r *tune.Report) error {
	md, js := filepath.Join(r.Out, "report.md"), filepath.Join(r.Out, "report.json")
	for _, f := range []string{js, md} {
		if !slices.Contains(r.Files, f) {
			r.Files = append(r.Files, f)
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(js, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(md, []byte(Markdown(r)), 0o644)
}
