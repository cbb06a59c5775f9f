package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

type seriesText struct {
	Series string `json:"series"`
	// In the notation of promtool: `0+10x5`, `_x3`, `stale`.
	Values string `json:"values"`
}

type point struct {
	at    int64
	value float64
}

func (p point) T() int64                      { return p.at }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }

type recorded struct {
	labels labels.Labels
	points []chunks.Sample
}

// All series of a scenario, with one value per interval.
type memory []recorded

func readSeries(texts []seriesText, interval time.Duration) (memory, error) {
	var all memory
	for _, each := range texts {
		name, values, err := parser.ParseSeriesDesc(each.Series + " " + each.Values)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", each.Series, each.Values, err)
		}
		var points []chunks.Sample
		for place, value := range values {
			if !value.Omitted {
				points = append(points, point{int64(place) * interval.Milliseconds(), value.Value})
			}
		}
		all = append(all, recorded{name, points})
	}
	return all, nil
}

func (m memory) Querier(_, _ int64) (storage.Querier, error) { return m, nil }

func (m memory) Select(_ context.Context, _ bool, _ *storage.SelectHints, wanted ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, each := range m {
		if matches(each.labels, wanted) {
			found.series = append(found.series, storage.NewListSeries(each.labels, each.points))
		}
	}
	return found
}

func matches(name labels.Labels, wanted []*labels.Matcher) bool {
	for _, each := range wanted {
		if !each.Matches(name.Get(each.Name)) {
			return false
		}
	}
	return true
}

func (memory) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (memory) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (memory) Close() error { return nil }

type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
