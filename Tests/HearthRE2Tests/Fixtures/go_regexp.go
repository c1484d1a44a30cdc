// Answers questions about regular expressions with Go's package regexp, one JSON object a line, for GoComparisonTests.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

// Texts are bytes, which JSON has in base 64.
type question struct {
	Pattern  string
	Whole    string // the pattern between \A and \z
	Text     []byte
	Template []byte
}

type answer struct {
	Compiles bool     `json:"compiles"`
	Ranges   []int    `json:"ranges"` // nil without a match
	Whole    bool     `json:"whole"`
	Replaced []byte   `json:"replaced"`
	Parts    [][]byte `json:"parts"`
}

func main() {
	input := bufio.NewReader(os.Stdin)
	output := bufio.NewWriter(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		encoded, err := json.Marshal(answered(asked))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		output.Write(append(encoded, '\n'))
		output.Flush() // the tests wait for each answer
	}
}

func answered(asked question) answer {
	expression, err := regexp.Compile(asked.Pattern)
	if err != nil {
		return answer{}
	}
	whole := regexp.MustCompile(asked.Whole)
	parts := [][]byte{}
	for _, part := range expression.Split(string(asked.Text), -1) {
		parts = append(parts, []byte(part))
	}
	return answer{
		Compiles: true,
		Ranges:   expression.FindSubmatchIndex(asked.Text),
		Whole:    whole.Match(asked.Text),
		Replaced: expression.ReplaceAll(asked.Text, asked.Template),
		Parts:    parts,
	}
}
