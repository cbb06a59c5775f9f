import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { allDocumentedMetrics, askPrometheus, describeWith, type Expression } from '@uswarm/testkit';
import { misused } from './support/monitoring/promql.js';
import { CHART } from './support/rendering.js';

interface Target {
  refId: string;
  expr: string;
  legendFormat: string;
}
interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { type: string; uid: string };
  fieldConfig?: { defaults: { unit?: string } };
  targets?: Target[];
}
interface Dashboard {
  uid: string;
  title: string;
  description: string;
  schemaVersion: number;
  templating: { list: { name: string; type: string; query: string }[] };
  panels: Panel[];
}

const FOLDER = `${CHART}/dashboards`;
/** The panel types and units of Grafana that the dashboards use. */
const PANELS = new Set(['row', 'stat', 'table', 'timeseries']);
const UNITS = new Set(['Bps', 'bytes', 'ops', 'percentunit', 'reqps', 's', 'short']);

let dashboards: Map<string, Dashboard>;
beforeAll(async () => {
  const files = await readdir(FOLDER);
  const read = async (file: string): Promise<[string, Dashboard]> => [
    path.basename(file, '.json'),
    JSON.parse(await readFile(`${FOLDER}/${file}`, 'utf8')) as Dashboard,
  ];
  dashboards = new Map(await Promise.all(files.map(read)));
});

/** All panels except rows, with their names in failures. */
const panels = (): [string, Panel][] =>
  [...dashboards].flatMap(([name, dashboard]) =>
    dashboard.panels
      .filter(({ type }) => type !== 'row')
      .map((panel): [string, Panel] => [`${name} / ${panel.title}`, panel]),
  );

describe('dashboards', () => {
  it('cover all components, with unique ids and titles', () => {
    expect([...dashboards.keys()].toSorted()).toEqual([
      'api',
      'models',
      'overview',
      'realtime',
      'replies',
      'runtimes',
      'search',
    ]);
    for (const [name, { uid, title, description, schemaVersion }] of dashboards) {
      expect({ uid, title, description }).toEqual({
        uid: `uswarm-${name}`,
        title: expect.stringMatching(/^uswarm \/ /),
        description: expect.stringMatching(/\.$/),
      });
      expect(schemaVersion).toBeGreaterThanOrEqual(39);
    }
    expect(new Set([...dashboards.values()].map(({ title }) => title)).size).toBe(dashboards.size);
  });

  it('use only the selectable data source', () => {
    for (const { templating } of dashboards.values()) {
      expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    }
    for (const [name, { datasource }] of panels()) {
      expect({ name, datasource }).toEqual({ name, datasource: { type: 'prometheus', uid: '${datasource}' } });
    }
  });

  it('have panels with titles, units, targets and legends', () => {
    for (const [name, { type, fieldConfig, targets = [] }] of panels()) {
      const isKnown = PANELS.has(type) && UNITS.has(fieldConfig?.defaults.unit ?? '');
      expect({ name, isKnown, hasTargets: targets.length > 0 }).toEqual({ name, isKnown: true, hasTargets: true });
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
      // Stat panels and tables need no legend.
      const hasLegend = type !== 'timeseries' || targets.every(({ legendFormat }) => legendFormat !== '');
      expect({ name, hasLegend }).toEqual({ name, hasLegend: true });
    }
    const titles = panels().map(([name]) => name);
    for (const [name] of panels()) expect(titles.filter((each) => each === name)).toHaveLength(1);
  });

  it('have no overlapping panels', () => {
    for (const [name, dashboard] of dashboards) {
      expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
      const taken = new Map<string, string>();
      for (const { title, gridPos } of dashboard.panels) {
        expect({ title, fits: gridPos.x + gridPos.w <= 24 }).toEqual({ title, fits: true });
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
            expect({ name, title, overlaps: taken.get(`${x} ${y}`) }).toEqual({ name, title, overlaps: undefined });
            taken.set(`${x} ${y}`, title);
          }
        }
      }
    }
  });

  it('have a readable size that fits in a release', async () => {
    for (const name of dashboards.keys()) {
      expect((await readFile(`${FOLDER}/${name}.json`)).byteLength).toBeLessThan(32 * 1024);
    }
  });
});

describeWith('prometheus', 'the queries of the dashboards', () => {
  let asked: { name: string; target: Target }[];
  let answers: Expression[];
  beforeAll(async () => {
    asked = panels().flatMap(([name, { targets = [] }]) => targets.map((target) => ({ name, target })));
    // As Grafana replaces them.
    const filled = asked.map(({ target }) =>
      target.expr.replaceAll('$__rate_interval', '2m').replaceAll('$route', '.*'),
    );
    answers = (await askPrometheus({ expressions: filled })).expressions;
  });

  it('use only documented metrics and labels, and rates only of counters', () => {
    expect(asked.length).toBeGreaterThan(80);
    const documented = allDocumentedMetrics();
    expect(
      answers.flatMap((each, index) => misused(each, documented).map((wrong) => `${asked[index]!.name}: ${wrong}`)),
    ).toEqual([]);
  });

  it('use only existing labels in legends', () => {
    const documented = allDocumentedMetrics();
    const known = (expression: Expression): Set<string> => {
      const ofMetrics = expression.selectors.flatMap(({ metric }) => {
        const found = documented.find(
          ({ name }) => metric === name || metric.replace(/_(count|sum|bucket)$/, '') === name,
        );
        return found?.labels ?? [];
      });
      return new Set(['component', 'pod', ...ofMetrics]);
    };
    const wrong = asked.flatMap(({ name, target }, index) => {
      const named = [...target.legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      const { labels } = answers[index]!;
      const isGrouped = /^(sum|max|min|count|topk|histogram_quantile)\b/.test(target.expr);
      return named
        .filter((label) => (isGrouped ? !labels.includes(label) : !known(answers[index]!).has(label)))
        .map((label) => `${name}: ${label}`);
    });
    expect(wrong).toEqual([]);
  });

  it('show every relevant metric', () => {
    const shown = new Set(
      answers.flatMap(({ selectors }) => selectors.map(({ metric }) => metric.replace(/_(count|sum|bucket)$/, ''))),
    );
    const unseen = allDocumentedMetrics()
      .filter(({ name }) => !shown.has(name))
      .map(({ name }) => name);
    // Used by alerts only. Two services have the last one.
    const refused = 'uswarm_service_token_refused';
    expect(unseen.toSorted()).toEqual(['uswarm_rate_limits_shared', refused, refused]);
  });
});
