package space

import "errors"

// ImportAs is Import of a loop nest whose text leaves open which of several states it
// is: of those, the first that accept takes.
func (sp *Space) ImportAs(text string, accept func(*State) bool) (*State, error) {
	goal, err := sp.parseNest(text)
	if err != nil {
		return nil, err
	}
	im := sp.newImporter(goal)
	im.accept = accept
	s := im.follow(sp.start, nil)
	if s == nil {
		return nil, errors.New("space: import of a loop nest: none of the states found for it is accepted")
	}
	return s, nil
}
