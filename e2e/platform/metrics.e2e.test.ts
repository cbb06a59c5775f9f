import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { undocumented } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { parse } from 'yaml';
import {
  CHART,
  forwardPort,
  type Kinds,
  NAMESPACE,
  openSession,
  RELEASE,
  releaseValues,
  type Session,
} from '../support/index.js';

const OPS_PORT = 8081;
/** The service label of each component. */
const COMPONENTS: Record<string, string> = {
  controller: 'uswarm-controller',
  'model-gateway': 'model-gateway',
  orchestrator: 'orchestrator',
  'realtime-gateway': 'realtime-gateway',
  'searxng-client': 'searxng-client',
  webhook: 'uswarm-webhook',
};

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

interface Monitor {
  metadata: { namespace: string };
  spec: {
    selector: { matchLabels: Record<string, string> };
    namespaceSelector: { matchNames: string[] };
    endpoints: { port: string; path: string }[];
  };
}

/** The ServiceMonitor that the chart renders for this release. */
async function serviceMonitor(): Promise<Monitor> {
  const values = { ...releaseValues(session.settings.images), metrics: { serviceMonitor: { enabled: true } } };
  const { stdout } = await session.tools.helm(
    ['template', RELEASE, CHART, '-n', NAMESPACE.release, '-f', '-', '-s', 'templates/monitoring/service-monitor.yaml'],
    { input: JSON.stringify(values) },
  );
  return parse(stdout) as Monitor;
}

const fits = (labels: Record<string, string> | undefined, wanted: Record<string, string>): boolean =>
  Object.entries(wanted).every(([name, value]) => labels?.[name] === value);

const componentOf = ({ metadata }: { metadata?: { labels?: Record<string, string> } }): string =>
  metadata?.labels?.['app.kubernetes.io/component'] ?? '';

async function scrape({ metadata }: Kinds['Pod'], path: string): Promise<string> {
  const forwarded = await forwardPort(session.tools, NAMESPACE.release, `pod/${metadata?.name}`, OPS_PORT);
  try {
    const response = await fetch(`http://127.0.0.1:${forwarded.port}${path}`);
    expect({ pod: metadata?.name, status: response.status }).toEqual({ pod: metadata?.name, status: 200 });
    return await response.text();
  } finally {
    await forwarded.close();
  }
}

describe('the metrics of the installed release', () => {
  it('are scraped through the ServiceMonitor from every ready pod of each service', async () => {
    const { spec } = await serviceMonitor();
    expect(spec.namespaceSelector.matchNames).toEqual([NAMESPACE.release]);
    const [services, slices, pods] = await Promise.all([
      session.api.list('Service', { namespace: NAMESPACE.release }),
      session.api.list('EndpointSlice', { namespace: NAMESPACE.release }),
      session.api.list('Pod', { namespace: NAMESPACE.release }),
    ]);
    const { port } = spec.endpoints[0]!;
    const selected = services.filter(
      (service) =>
        fits(service.metadata?.labels, spec.selector.matchLabels) &&
        service.spec?.ports?.some(({ name }) => name === port),
    );
    expect(selected.map(componentOf).toSorted()).toEqual(Object.keys(COMPONENTS).toSorted());
    for (const service of selected) {
      const own = slices.filter(
        ({ metadata }) => metadata?.labels?.['kubernetes.io/service-name'] === service.metadata?.name,
      );
      const targets = own.flatMap(({ endpoints = [], ports = [] }) =>
        ports.some((each) => each.name === port && each.port === OPS_PORT)
          ? endpoints.filter(({ conditions }) => conditions?.ready === true).map(({ targetRef }) => targetRef?.name)
          : [],
      );
      const ready = pods.filter(
        (pod) =>
          fits(pod.metadata?.labels, service.spec?.selector ?? {}) &&
          pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
      );
      expect(ready.length).toBeGreaterThan(0);
      expect(targets.toSorted()).toEqual(ready.map(({ metadata }) => metadata?.name).toSorted());
    }
  });

  it.each(Object.entries(COMPONENTS))('match docs/metrics.md for %s', async (label, component) => {
    const { spec } = await serviceMonitor();
    const pods = (await session.api.list('Pod', { namespace: NAMESPACE.release })).filter(
      (pod) => componentOf(pod) === label && pod.status?.phase === 'Running',
    );
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      const text = await scrape(pod, spec.endpoints[0]!.path);
      const name = pod.metadata?.name;
      expect({ name, undocumented: undocumented(component, text) }).toEqual({ name, undocumented: [] });
      expect(text).toMatch(new RegExp(`^uswarm_build_info\\{version="[^"]+",component="${component}"\\} 1$`, 'm'));
      expect(text).toMatch(/^process_resident_memory_bytes\{.*\} \d{7,}/m);
    }
  });

  it('trigger no alert while the release is healthy', async () => {
    const pods = await session.api.list('Pod', { namespace: NAMESPACE.release });
    const healthy = [
      ['orchestrator', 'uswarm_database_up{component="orchestrator"} 1'],
      ['orchestrator', 'uswarm_event_bus_up{component="orchestrator"} 1'],
      ['realtime-gateway', 'uswarm_event_bus_up{component="realtime-gateway"} 1'],
      ['controller', 'uswarm_controller_leader{component="uswarm-controller"} 1'],
      ['controller', 'uswarm_controller_caches_synced{component="uswarm-controller"} 1'],
    ] as const;
    for (const [label, series] of healthy) {
      const pod = pods.find((each) => componentOf(each) === label)!;
      // Alerts wait too: on a busy machine, a watch of the controller can begin again.
      const text = await eventually(() => scrape(pod, '/metrics'), { until: (lines) => lines.includes(series) });
      expect(text).toContain(series);
    }
  });
});
