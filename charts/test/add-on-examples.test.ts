import { describe, expect, it } from '@jest/globals';
import { allDocumentedMetrics } from '@uswarm/testkit';
import { external, find, ofKind, rejection, render, repositoryFile } from './support/rendering.js';
import { merge } from './support/value-paths.js';

const example = (path: string) => render({}, { files: ['deploy/production/values.yaml', path].map(repositoryFile) });

describe('deploy/cert-manager/values.yaml', () => {
  it('names its issuer at the Ingress, whose TLS Secret cert-manager creates', async () => {
    const manifests = await example('deploy/cert-manager/values.yaml');
    const [issuer] = ofKind(manifests, 'ClusterIssuer');
    for (const { metadata, spec } of ofKind(manifests, 'Ingress')) {
      expect(metadata.annotations).toMatchObject({ 'cert-manager.io/cluster-issuer': issuer!.metadata.name });
      expect(spec.tls).toEqual([{ hosts: ['api.example.com'], secretName: 'uswarm-tls' }]);
    }
    expect(ofKind(manifests, 'Ingress')).not.toEqual([]);
  });

  it('solves challenges with the class of the Ingress', async () => {
    const manifests = await example('deploy/cert-manager/values.yaml');
    const classes = new Set(ofKind(manifests, 'Ingress').map(({ spec }) => spec.ingressClassName));
    const { solvers } = ofKind(manifests, 'ClusterIssuer')[0]!['spec'].acme;
    expect(classes).toEqual(new Set([solvers[0].http01.ingress.ingressClassName]));
  });
});

describe('deploy/keda/values.yaml', () => {
  it('scales the orchestrator, whose replicas the chart then does not set', async () => {
    const manifests = await example('deploy/keda/values.yaml');
    const { metadata, spec } = ofKind(manifests, 'ScaledObject')[0]!;
    expect(metadata.namespace).toBe('backend');
    const scaled = find(manifests, 'Deployment', spec.scaleTargetRef.name);
    expect(scaled['spec']).not.toHaveProperty('replicas');
    expect(ofKind(manifests, 'HorizontalPodAutoscaler').map(({ metadata: own }) => own.name)).toEqual([]);
    expect(ofKind(manifests, 'PodDisruptionBudget').map(({ metadata: own }) => own.name)).toContain(
      spec.scaleTargetRef.name,
    );
  });

  it('asks for a metric that the orchestrator has', async () => {
    const { triggers } = ofKind(await example('deploy/keda/values.yaml'), 'ScaledObject')[0]!['spec'];
    const [, metric, label] = /^max\((\w+)\{(\w+)="queued"\}\)$/.exec(triggers[0].metadata.query)!;
    expect(allDocumentedMetrics().find(({ name }) => name === metric)?.labels).toContain(label);
  });
});

describe('replicas that something else sets', () => {
  it('exclude an autoscaler of the chart', async () => {
    const values = { orchestrator: { autoscaling: { enabled: true, external: true } } };
    expect(await rejection(merge(external, values))).toMatch(
      /^orchestrator\.autoscaling\.enabled and external exclude each other/,
    );
  });
});
