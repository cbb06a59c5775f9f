import { beforeAll, describe, expect, it } from '@jest/globals';
import { leaves, podOf, policiesOf } from './support/network-model.js';
import {
  container,
  containersOf,
  evaluation,
  type Manifest,
  modelProvider,
  podTemplates,
  rejection,
  render,
} from './support/rendering.js';
import { merge } from './support/value-paths.js';

const ENDPOINT = 'http://collector.observability:4318';
const VALUES = merge(
  { ...evaluation, ...modelProvider },
  {
    tracing: {
      otlp: { endpoint: ENDPOINT },
      ratio: 0.25,
      resourceAttributes: { 'deployment.environment.name': 'a, b' },
    },
    secrets: { tracing: { existingSecret: 'collector-login' } },
  },
);
const TRACED = ['orchestrator', 'realtime-gateway', 'model-gateway'];

describe('tracing in the chart', () => {
  let manifests: Manifest[];
  beforeAll(async () => {
    manifests = await render(VALUES);
  });

  it('is set for the services that work on questions, and for no other container', () => {
    const traced = podTemplates(manifests).flatMap((template) =>
      containersOf(template).flatMap(({ name, env = [] }) => {
        const variables = env.filter((each) => each.name.startsWith('OTEL_'));
        return variables.length === 0 ? [] : [[name, Object.fromEntries(variables.map((v) => [v.name, v.value]))]];
      }),
    );
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: undefined,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%2C%20b',
    };
    expect(Object.fromEntries(traced)).toEqual(Object.fromEntries(TRACED.map((name) => [name, variables])));
  });

  it('takes the headers from a Secret, also as a file', async () => {
    const { env } = container(manifests, 'uswarm-orchestrator', 'orchestrator');
    expect(env?.find(({ name }) => name === 'OTEL_EXPORTER_OTLP_HEADERS')?.valueFrom?.secretKeyRef).toEqual({
      name: 'collector-login',
      key: 'headers',
    });
    const inFiles = await render(merge(VALUES, { mountSecretsAsFiles: true }));
    const names = container(inFiles, 'uswarm-orchestrator', 'orchestrator').env?.map(({ name }) => name);
    expect(names).toContain('OTEL_EXPORTER_OTLP_HEADERS_FILE');
    expect(names).not.toContain('OTEL_EXPORTER_OTLP_HEADERS');
  });

  it('is off by default', async () => {
    const text = JSON.stringify(await render({ ...evaluation, ...modelProvider }));
    expect(text).not.toContain('OTEL_');
  });

  it.each(TRACED)('lets %s reach the collector, and only its port', (component) => {
    const policies = policiesOf(manifests);
    const pod = podOf(manifests, `uswarm-${component}`);
    const open = (address: string) => [4317, 4318].filter((port) => leaves(policies, pod, address, port));
    expect(open('10.1.2.3')).toEqual([4318]);
  });

  it('allows only the addresses in networkPolicy.tracing.to, or in the URL', async () => {
    const reached = async (values: object) => {
      const rendered = await render(merge(VALUES, values));
      const [policies, pod] = [policiesOf(rendered), podOf(rendered, 'uswarm-model-gateway')];
      return ['10.1.2.3', '10.9.8.7'].filter((address) => leaves(policies, pod, address, 4318));
    };
    const to = [{ ipBlock: { cidr: '10.9.8.0/24' } }];
    expect(await reached({ networkPolicy: { tracing: { to } } })).toEqual(['10.9.8.7']);
    expect(await reached({ tracing: { otlp: { endpoint: 'http://10.9.8.7:4318/otlp' } } })).toEqual(['10.9.8.7']);
  });

  it.each([
    [{ tracing: { otlp: { endpoint: 'collector:4317' } } }, /tracing.otlp.endpoint|tracing\/otlp\/endpoint/],
    [{ tracing: { otlp: { endpoint: 'http://user:password@collector' } } }, /endpoint/],
    [{ tracing: { ratio: 25 } }, /ratio/],
    [{ tracing: { otlp: { endpoint: '' } } }, /secrets.tracing has no effect/],
  ])('rejects %j', async (values, message) => {
    expect(await rejection(merge(VALUES, values))).toMatch(message);
  });
});
