package main

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

type selector struct {
	Metric   string    `json:"metric"`
	Matchers []matcher `json:"matchers"`
}

type matcher struct {
	Label string `json:"label"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// The selectors, labels and calls of an expression.
type expression struct {
	Error     string     `json:"error,omitempty"`
	Type      string     `json:"type"`
	Selectors []selector `json:"selectors"`
	// Labels by which the expression groups, joins or sorts.
	Labels []string `json:"labels"`
	// Functions and aggregations, each with the metrics of its operands.
	Calls []call `json:"calls"`
}

type call struct {
	Name    string   `json:"name"`
	Metrics []string `json:"metrics"`
}

func analyze(text string) expression {
	result := expression{Selectors: []selector{}, Labels: []string{}, Calls: []call{}}
	parsed, err := parser.ParseExpr(text)
	if err != nil {
		result.Error = err.Error()
		return result
	}
	result.Type = string(parsed.Type())
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch each := node.(type) {
		case *parser.VectorSelector:
			result.Selectors = append(result.Selectors, readSelector(each))
		case *parser.AggregateExpr:
			result.Labels = append(result.Labels, each.Grouping...)
		case *parser.BinaryExpr:
			if each.VectorMatching != nil {
				result.Labels = append(result.Labels, each.VectorMatching.MatchingLabels...)
				result.Labels = append(result.Labels, each.VectorMatching.Include...)
			}
		case *parser.Call:
			result.Calls = append(result.Calls, call{Name: each.Func.Name, Metrics: metricsBelow(each)})
		}
		return nil
	})
	return result
}

func readSelector(node *parser.VectorSelector) selector {
	found := selector{Metric: node.Name, Matchers: []matcher{}}
	for _, each := range node.LabelMatchers {
		if each.Name != labels.MetricName {
			found.Matchers = append(found.Matchers, matcher{each.Name, each.Type.String(), each.Value})
		}
	}
	return found
}

func metricsBelow(node parser.Node) []string {
	names := []string{}
	parser.Inspect(node, func(each parser.Node, _ []parser.Node) error {
		if found, ok := each.(*parser.VectorSelector); ok {
			names = append(names, found.Name)
		}
		return nil
	})
	return names
}
