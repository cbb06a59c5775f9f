package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

const interval = time.Minute

type scenario struct {
	Series []seriesText `json:"series"`
	// Duration of the scenario in minutes.
	Minutes int `json:"minutes"`
}

type firing struct {
	Alert       string            `json:"alert"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func readAlerts(text string) ([]rulefmt.Rule, []error) {
	groups, problems := rulefmt.Parse([]byte(text), false)
	if len(problems) > 0 || groups == nil {
		return nil, problems
	}
	var alerts []rulefmt.Rule
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.KeepFiringFor != 0 {
				problems = append(problems, fmt.Errorf("%s: keep_firing_for is not supported", group.Name))
			}
			alerts = append(alerts, rule)
		}
	}
	return alerts, problems
}

func play(alerts []rulefmt.Rule, input scenario) ([]firing, error) {
	series, err := readSeries(input.Series, interval)
	if err != nil {
		return nil, err
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	query := func(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
		prepared, err := engine.NewInstantQuery(ctx, series, nil, text, at)
		if err != nil {
			return nil, err
		}
		defer prepared.Close()
		return prepared.Exec(ctx).Vector()
	}
	fired := []firing{}
	for _, alert := range alerts {
		found, err := watch(alert, query, input.Minutes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", alert.Alert, err)
		}
		fired = append(fired, found...)
	}
	return fired, nil
}

// Evaluates an alerting rule once per minute. The alert fires after it was active for the duration of `for`.
func watch(alert rulefmt.Rule, query template.QueryFunc, minutes int) ([]firing, error) {
	activeSince := map[uint64]time.Time{}
	fired := map[uint64]firing{}
	for minute := 0; minute <= minutes; minute++ {
		now := time.UnixMilli(0).Add(time.Duration(minute) * interval)
		found, err := query(context.Background(), alert.Expr, now)
		if err != nil {
			return nil, err
		}
		active := map[uint64]time.Time{}
		for _, sample := range found {
			id := sample.Metric.DropMetricName().Hash()
			active[id] = now
			if since, known := activeSince[id]; known {
				active[id] = since
			}
			if now.Sub(active[id]) < time.Duration(alert.For) {
				continue
			}
			if fired[id], err = describe(alert, sample, query, now); err != nil {
				return nil, err
			}
		}
		activeSince = active
	}
	return slices.Collect(maps.Values(fired)), nil
}

func describe(alert rulefmt.Rule, sample promql.Sample, query template.QueryFunc, now time.Time) (firing, error) {
	values := sample.Metric.Map()
	data := template.AlertTemplateData(values, nil, "", sample)
	expand := func(text string) (string, error) {
		const variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
		expander := template.NewTemplateExpander(context.Background(), variables+text, alert.Alert, data,
			model.Time(now.UnixMilli()), query, &url.URL{}, []string{"missingkey=error"})
		return expander.Expand()
	}
	output := firing{Alert: alert.Alert, Labels: map[string]string{}, Annotations: map[string]string{}}
	for name, value := range values {
		if name != labels.MetricName {
			output.Labels[name] = value
		}
	}
	for _, part := range []struct{ from, to map[string]string }{
		{alert.Labels, output.Labels}, {alert.Annotations, output.Annotations},
	} {
		for name, text := range part.from {
			expanded, err := expand(text)
			if err != nil {
				return output, err
			}
			part.to[name] = expanded
		}
	}
	return output, nil
}
