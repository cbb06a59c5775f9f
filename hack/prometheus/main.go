// Checks rules and queries with Prometheus' own parser and engine: a request as JSON on standard input,
// the answer as JSON on standard output. Prometheus' promtool does the same and more, at ten times the build.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type request struct {
	// Expressions to take apart.
	Expressions []string `json:"expressions"`
	// A file of rule groups, as text.
	Rules string `json:"rules"`
	// Each is evaluated on its own.
	Scenarios []scenario `json:"scenarios"`
}

type answer struct {
	Expressions []expression `json:"expressions"`
	RuleErrors  []string     `json:"ruleErrors"`
	// The alerts that fired in each scenario, at whatever minute.
	Scenarios [][]firing `json:"scenarios"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	told := answer{Expressions: []expression{}, RuleErrors: []string{}, Scenarios: [][]firing{}}
	for _, text := range asked.Expressions {
		told.Expressions = append(told.Expressions, takeApart(text))
	}
	alerts, problems := readAlerts(asked.Rules)
	for _, problem := range problems {
		told.RuleErrors = append(told.RuleErrors, problem.Error())
	}
	if len(problems) == 0 {
		for _, each := range asked.Scenarios {
			fired, err := play(alerts, each)
			if err != nil {
				return err
			}
			told.Scenarios = append(told.Scenarios, fired)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}
