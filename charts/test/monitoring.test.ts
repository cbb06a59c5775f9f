import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { CHART, evaluation, external, find, type Manifest, ofKind, refusal, render } from './rendering.js';

const KINDS = ['ServiceMonitor', 'PrometheusRule'];
const on = (metrics: object): object => ({ ...evaluation, metrics });

it('asks for nothing that the cluster may not have, unless it is told to', async () => {
  const manifests = await render(external);
  expect(manifests.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com'))).toEqual([]);
  expect(ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name.includes('dashboard'))).toEqual([]);
});

describe('the ServiceMonitor', () => {
  const selected = (manifests: readonly Manifest[], matchLabels: Record<string, string>): Manifest[] =>
    ofKind(manifests, 'Service').filter(({ metadata }) =>
      Object.entries(matchLabels).every(([name, value]) => metadata.labels?.[name] === value),
    );

  it('finds each service that serves metrics by its port, and with it each of its pods', async () => {
    const manifests = await render(on({ serviceMonitor: { enabled: true } }));
    const { spec } = find(manifests, 'ServiceMonitor', 'uswarm') as Manifest;
    expect(spec.namespaceSelector).toEqual({ matchNames: ['backend'] });
    expect(spec.endpoints).toEqual([{ port: 'ops', path: '/metrics', interval: '30s', scrapeTimeout: '10s' }]);
    const services = selected(manifests, spec.selector.matchLabels).filter((service) =>
      (service['spec'].ports as { name: string }[]).some(({ name }) => name === spec.endpoints[0].port),
    );
    expect(services.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'uswarm-controller',
      'uswarm-orchestrator',
      'uswarm-realtime-gateway',
      'uswarm-searxng-client',
      'uswarm-webhook',
    ]);
    for (const service of services) {
      const { template } = find(manifests, 'Deployment', service.metadata.name)['spec'];
      expect(template.metadata.labels).toMatchObject(service['spec'].selector);
      const ports = template.spec.containers.flatMap((each: { ports: object[] }) => each.ports);
      expect(ports).toContainEqual({ name: 'ops', containerPort: 8081 });
    }
  });

  it('has the labels that a Prometheus selects by, and its own beside them', async () => {
    const monitor = { enabled: true, labels: { release: 'prometheus' }, interval: '1m', scrapeTimeout: '20s' };
    const { metadata, spec } = find(await render(on({ serviceMonitor: monitor })), 'ServiceMonitor', 'uswarm');
    expect(metadata.labels).toMatchObject({ release: 'prometheus', 'app.kubernetes.io/instance': 'uswarm' });
    expect(spec.endpoints[0]).toMatchObject({ interval: '1m', scrapeTimeout: '20s' });
  });
});

describe('the PrometheusRule', () => {
  const rulesOf = async (settings: object): Promise<Manifest[]> => {
    const { spec } = find(
      await render(on({ prometheusRule: { enabled: true, ...settings } })),
      'PrometheusRule',
      'uswarm',
    );
    return (spec.groups as { rules: Manifest[] }[]).flatMap(({ rules }) => rules);
  };

  it('leaves alerts out that are not wanted', async () => {
    const [all, fewer] = [
      await rulesOf({}),
      await rulesOf({ disabledAlerts: ['UswarmApiErrors', 'UswarmSearchFailing'] }),
    ];
    const names = new Set(fewer.map(({ alert }) => alert as string));
    expect(all.length - fewer.length).toBe(3);
    expect([names.has('UswarmApiErrors'), names.has('UswarmSearchFailing')]).toEqual([false, false]);
  });

  it('has no group without rules', async () => {
    const settings = { enabled: true, disabledAlerts: ['UswarmSearchFailing', 'UswarmSearchEngineFailing'] };
    const { spec } = find(await render(on({ prometheusRule: settings })), 'PrometheusRule', 'uswarm');
    expect((spec.groups as { name: string }[]).map(({ name }) => name)).toEqual([
      'uswarm-api',
      'uswarm-platform',
      'uswarm-realtime',
      'uswarm-replies',
      'uswarm-runtimes',
    ]);
  });

  it('refuses to leave out what there is not', async () => {
    const wrong = on({ prometheusRule: { enabled: true, disabledAlerts: ['UswarmApiError'] } });
    expect(await refusal(wrong)).toContain('disabledAlerts names UswarmApiError; there is no such alert.');
  });

  it('takes labels for routing, which do not change how bad an alert is', async () => {
    for (const { labels } of await rulesOf({ alertLabels: { team: 'a', severity: 'none' } })) {
      expect(labels).toMatchObject({ team: 'a', severity: expect.not.stringMatching('none') });
    }
  });

  it('leads to runbooks where they are', async () => {
    const [first] = await rulesOf({ runbookUrl: 'https://git.example.com/uswarm/docs/runbooks/' });
    expect(first!['annotations'].runbook_url).toBe('https://git.example.com/uswarm/docs/runbooks/UswarmApiErrors.md');
  });
});

describe('the dashboards', () => {
  it("are ConfigMaps that the sidecar of Grafana's chart finds", async () => {
    const dashboards = { enabled: true, labels: { folder: 'a' }, annotations: { grafana_folder: 'uswarm' } };
    const maps = ofKind(await render(on({ dashboards })), 'ConfigMap').filter(
      ({ metadata }) => metadata.labels?.['grafana_dashboard'],
    );
    expect(maps).toHaveLength(6);
    for (const { metadata, data } of maps) {
      expect(metadata.labels).toMatchObject({ grafana_dashboard: '1', folder: 'a' });
      expect(metadata.annotations).toEqual({ grafana_folder: 'uswarm' });
      const [[file, text] = ['', '']] = Object.entries(data as Record<string, string>);
      const source = await readFile(`${CHART}/dashboards/${file.replace('uswarm-', '')}`, 'utf8');
      expect(JSON.parse(text)).toEqual(JSON.parse(source));
    }
  });
});

it('all of it renders for a cluster that has none of the definitions', async () => {
  const everything = {
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true },
  };
  const kinds = (await render({ ...external, metrics: everything })).map(({ kind }) => kind);
  for (const kind of KINDS) expect(kinds.filter((each) => each === kind)).toHaveLength(1);
});
