import { beforeAll, describe, expect, it } from '@jest/globals';
import { allDocumentedMetrics, askPrometheus, describeWith, type RuleVerdict } from '@uswarm/testkit';
import { stringify } from 'yaml';
import { faults } from './support/monitoring/faults.js';
import { harmless } from './support/monitoring/harmless.js';
import { healthy, ORCHESTRATOR } from './support/monitoring/healthy.js';
import { misused } from './support/monitoring/promql.js';
import { always, scenario } from './support/monitoring/series.js';
import { evaluation, find, modelProvider, render } from './support/rendering.js';

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

let rules: Rule[];
let spec: object;
beforeAll(async () => {
  const values = { ...evaluation, ...modelProvider, metrics: { prometheusRule: { enabled: true } } };
  const manifest = find(await render(values), 'PrometheusRule', 'uswarm');
  spec = manifest['spec'] as object;
  rules = (manifest['spec'].groups as { rules: Rule[] }[]).flatMap((group) => group.rules);
});

describe('every alert', () => {
  it('has a severity, a summary, a description and a runbook', () => {
    expect(rules.length).toBeGreaterThan(35);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Uswarm[A-Z]\w+$/);
      expect(['critical', 'warning', 'info']).toContain(labels['severity']);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/^[A-Z].*[^.]$/),
        description: expect.stringMatching(/\.$/),
        runbook_url: `docs/runbooks/${alert}.md`,
      });
    }
  });

  it('has a `for` duration unless its expression covers at least 15 minutes', () => {
    const immediate = rules.filter((rule) => rule.for === undefined);
    for (const { expr } of immediate) expect(expr).toMatch(/(increase|changes)\(.*\[(15|30)m\]/);
    expect(immediate.length).toBeLessThan(5);
  });
});

describeWith('prometheus', 'alerts evaluated by Prometheus', () => {
  let verdict: RuleVerdict;
  beforeAll(async () => {
    const scenarios = [
      ...faults.map(([, , figures]) => scenario(healthy, figures)),
      ...harmless.map(([, figures]) => scenario(healthy, figures)),
      slowBurn(),
    ];
    verdict = await askPrometheus({ rules: stringify(spec), expressions: rules.map(({ expr }) => expr), scenarios });
  });
  const fired = (index: number) => verdict.scenarios[index] ?? [];
  const names = (index: number): string[] => [...new Set(fired(index).map(({ alert }) => alert))];

  it('are valid', () => {
    expect(verdict.ruleErrors).toEqual([]);
  });

  it('use only documented metrics and labels, and rates only of counters', () => {
    const documented = allDocumentedMetrics();
    const wrong = rules.flatMap(({ alert }, index) =>
      misused(verdict.expressions[index]!, documented).map((problem) => `${alert}: ${problem}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each(faults.map(([what, alerts], index) => ({ what, alerts, index })))(
    'fire only $alerts when $what',
    ({ alerts, index }) => {
      expect(names(index)).toEqual(alerts);
    },
  );

  it.each(harmless.map(([what], index) => ({ what, index: faults.length + index })))(
    'do not fire when $what',
    ({ index }) => {
      expect(names(index)).toEqual([]);
    },
  );

  it('fire with severity warning when a few requests fail for hours', () => {
    const found = fired(faults.length + harmless.length);
    expect(found.map(({ alert, labels }) => ({ alert, severity: labels['severity'] }))).toEqual([
      { alert: 'UswarmApiErrors', severity: 'warning' },
    ]);
  });

  it('can all fire with each of their severities', () => {
    const seen = new Set(verdict.scenarios.flat().map(({ alert, labels }) => `${alert} ${labels['severity']}`));
    const wanted = rules.map(({ alert, labels }) => `${alert} ${labels['severity']}`);
    expect([...seen].toSorted()).toEqual([...new Set(wanted)].toSorted());
  });

  it('have descriptions without missing values', () => {
    for (const { annotations } of verdict.scenarios.flat()) {
      for (const text of Object.values(annotations)) expect(text).not.toMatch(/no value|\{\{|NaN|\(\)| {2}/);
    }
  });
});

/** An error rate below the critical alert and above the monthly error budget. */
function slowBurn() {
  const minutes = 400;
  const counter = (perMinute: number): number[] => always(0, minutes).map((_, minute) => minute * perMinute);
  const series = (status: string): string =>
    `uswarm_http_request_duration_seconds_count{${ORCHESTRATOR},route="listWorkspaces",method="GET",status="${status}"}`;
  return scenario({}, { ...longer(), [series('2xx')]: counter(1_000), [series('5xx')]: counter(9) }, minutes);

  /** All services are up during the scenario. */
  function longer() {
    const alive = Object.keys(healthy).filter((name) => name.startsWith('uswarm_build_info'));
    return Object.fromEntries(alive.map((name) => [name, always(1, minutes)]));
  }
}
