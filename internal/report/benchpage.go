package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/protuner/protuner/internal/bench"
)

//go:embed benchpage.html
var benchPageText string

var benchPage = template.Must(template.New("bench").Parse(benchPageText))

// BenchPage writes a comparison as one page that needs nothing else.
func BenchPage(w io.Writer, b *bench.Stored, s *bench.Summary, plots []*benchPlot) error {
	type picture struct {
		Title string
		SVG   template.HTML
	}
	data := struct {
		Title    string
		Headline []string
		Facts    [][2]string
		Pictures []picture
		Tables   []benchTable
		Lists    []benchList
	}{Title: "Schedules side by side", Headline: headline(s), Facts: facts(b), Tables: benchTables(s), Lists: lists(s)}
	for _, p := range plots {
		var svg bytes.Buffer
		if err := p.draw(&svg, "svg"); err != nil {
			return err
		}
		// The picture alone: a page has one XML declaration at most, and no document type inside.
		text := svg.String()
		if at := strings.Index(text, "<svg"); at > 0 {
			text = text[at:]
		}
		data.Pictures = append(data.Pictures, picture{p.Title, template.HTML(text)})
	}
	return benchPage.Execute(w, data)
}

// headline says the comparison's result in sentences.
func headline(s *bench.Summary) []string {
	var out []string
	marked := false
	for i, m := range s.Means {
		if m.Method == s.Against || m.Ratio == nil {
			continue
		}
		text := meanRatio(s, i)
		marked = marked || strings.HasSuffix(text, fewMark)
		out = append(out, s.Against+" is "+text+" times as fast as "+m.Method+" in geometric mean over "+plural(m.Apps)+".")
	}
	if marked {
		out = append(out, fewNote)
	}
	return out
}

func plural(apps int) string {
	if apps == 1 {
		return "one application"
	}
	return strconv.Itoa(apps) + " applications"
}
