import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import {
  CHART,
  evaluation,
  external,
  find,
  type Manifest,
  modelProvider,
  ofKind,
  rejection,
  render,
} from './support/rendering.js';

const KINDS = ['ServiceMonitor', 'PrometheusRule'];
const on = (metrics: object): object => ({ ...evaluation, metrics });

it('monitoring objects are disabled by default', async () => {
  const manifests = await render(external);
  expect(manifests.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com'))).toEqual([]);
  expect(ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name.includes('dashboard'))).toEqual([]);
});

describe('the ServiceMonitor', () => {
  const selected = (manifests: readonly Manifest[], matchLabels: Record<string, string>): Manifest[] =>
    ofKind(manifests, 'Service').filter(({ metadata }) =>
      Object.entries(matchLabels).every(([name, value]) => metadata.labels?.[name] === value),
    );

  it('selects all pods that serve metrics', async () => {
    const manifests = await render({ ...on({ serviceMonitor: { enabled: true } }), ...modelProvider });
    const { spec } = find(manifests, 'ServiceMonitor', 'uswarm') as Manifest;
    expect(spec.namespaceSelector).toEqual({ matchNames: ['backend'] });
    expect(spec.endpoints).toEqual([{ port: 'ops', path: '/metrics', interval: '30s', scrapeTimeout: '10s' }]);
    const services = selected(manifests, spec.selector.matchLabels).filter((service) =>
      (service['spec'].ports as { name: string }[]).some(({ name }) => name === spec.endpoints[0].port),
    );
    expect(services.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'uswarm-controller',
      'uswarm-model-gateway',
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

  it('has the configured labels in addition to its own', async () => {
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

  it('omits disabled alerts', async () => {
    const [all, fewer] = [
      await rulesOf({}),
      await rulesOf({ disabledAlerts: ['UswarmApiErrors', 'UswarmSearchFailing'] }),
    ];
    const names = new Set(fewer.map(({ alert }) => alert as string));
    expect(all.length - fewer.length).toBe(3);
    expect(names.has('UswarmApiErrors')).toBe(false);
    expect(names.has('UswarmSearchFailing')).toBe(false);
  });

  it('has no alerts on metrics of the built-in controller with Metacontroller', async () => {
    const values = { ...on({ prometheusRule: { enabled: true } }), controller: { framework: 'metacontroller' } };
    const { spec } = find(await render(values), 'PrometheusRule', 'uswarm');
    expect((spec.groups as { name: string }[]).map(({ name }) => name)).not.toContain('uswarm-runtimes');
    expect(JSON.stringify(spec)).not.toMatch(/uswarm_controller|uswarm_userswarms|uswarm-controller/);
  });

  it('has alerts on the model gateway only if it is deployed', async () => {
    const groups = async (values: object): Promise<string[]> => {
      const manifests = await render({ ...on({ prometheusRule: { enabled: true } }), ...values });
      const { spec } = find(manifests, 'PrometheusRule', 'uswarm');
      return (spec.groups as { name: string }[]).map(({ name }) => name);
    };
    expect(await groups(modelProvider)).toContain('uswarm-models');
    expect(await groups({})).not.toContain('uswarm-models');
  });

  it('has no empty group', async () => {
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

  it('rejects unknown names of disabled alerts', async () => {
    const wrong = on({ prometheusRule: { enabled: true, disabledAlerts: ['UswarmApiError'] } });
    expect(await rejection(wrong)).toContain('disabledAlerts: alert UswarmApiError not found.');
  });

  it('adds labels for routing that cannot override the severity', async () => {
    for (const { labels } of await rulesOf({ alertLabels: { team: 'a', severity: 'none' } })) {
      expect(labels).toMatchObject({ team: 'a', severity: expect.not.stringMatching('none') });
    }
  });

  it('links to runbooks at the configured URL', async () => {
    const [first] = await rulesOf({ runbookUrl: 'https://git.example.com/uswarm/docs/runbooks/' });
    expect(first!['annotations'].runbook_url).toBe('https://git.example.com/uswarm/docs/runbooks/UswarmApiErrors.md');
  });
});

describe('the dashboards', () => {
  it('are ConfigMaps with the label of the Grafana sidecar', async () => {
    const dashboards = { enabled: true, labels: { folder: 'a' }, annotations: { grafana_folder: 'uswarm' } };
    const maps = ofKind(await render(on({ dashboards })), 'ConfigMap').filter(
      ({ metadata }) => metadata.labels?.['grafana_dashboard'],
    );
    expect(maps).toHaveLength(7);
    for (const { metadata, data } of maps) {
      expect(metadata.labels).toMatchObject({ grafana_dashboard: '1', folder: 'a' });
      expect(metadata.annotations).toEqual({ grafana_folder: 'uswarm' });
      const [[file, text] = ['', '']] = Object.entries(data as Record<string, string>);
      const source = await readFile(`${CHART}/dashboards/${file.replace('uswarm-', '')}`, 'utf8');
      expect(JSON.parse(text)).toEqual(JSON.parse(source));
    }
  });
});

it('monitoring objects render for a cluster without their CRDs', async () => {
  const everything = {
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true },
  };
  const kinds = (await render({ ...external, metrics: everything })).map(({ kind }) => kind);
  for (const kind of KINDS) expect(kinds.filter((each) => each === kind)).toHaveLength(1);
});
