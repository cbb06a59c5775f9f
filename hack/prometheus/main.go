// Checks rules and queries with the parser and engine of Prometheus. It reads a request as JSON from standard input and
// writes the response as JSON to standard output. promtool would do the same, but its build takes ten times as long.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type request struct {
	// Expressions to analyze.
	Expressions []string `json:"expressions"`
	// The text of a file with rule groups.
	Rules string `json:"rules"`
	// Scenarios are evaluated independently.
	Scenarios []scenario `json:"scenarios"`
}

type answer struct {
	Expressions []expression `json:"expressions"`
	RuleErrors  []string     `json:"ruleErrors"`
	// The alerts that fired at any time, by scenario.
	Scenarios [][]firing `json:"scenarios"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var input request
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return fmt.Errorf("invalid request: %w", err)
	}
	output := answer{Expressions: []expression{}, RuleErrors: []string{}, Scenarios: [][]firing{}}
	for _, text := range input.Expressions {
		output.Expressions = append(output.Expressions, analyze(text))
	}
	alerts, problems := readAlerts(input.Rules)
	for _, problem := range problems {
		output.RuleErrors = append(output.RuleErrors, problem.Error())
	}
	if len(problems) == 0 {
		for _, each := range input.Scenarios {
			fired, err := play(alerts, each)
			if err != nil {
				return err
			}
			output.Scenarios = append(output.Scenarios, fired)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(output)
}
