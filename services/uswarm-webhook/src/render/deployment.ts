import { START_DEADLINE_S, runtimeSelector, type UserSwarm, type UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { dnsFields, dnsLabels } from './dns.js';
import { renderEnvironment } from './environment.js';
import { childLabels } from './labels.js';
import { modelAccessLabels } from './model-gateway.js';
import { type ChildIdentity, childIdentityOf } from './child-identity.js';
import { renderResources } from './resources.js';
import { PLATFORM_REVISION, REVISION, SECRET_REVISION, SPEC_REVISION, TEMPLATE } from '../observed/annotations.js';
import { revisionOf, specRevision } from './revision.js';
import { RUNTIME_CONTAINER, STARTUP_PROBE_S } from '../observed/runtime-container.js';
import { trustedMounts, trustedVolumes } from './outbound.js';
import type { RenderSettings, TemplateSettings } from './settings.js';

const NON_ROOT_UID = 65_532;
/** Seconds from SIGTERM to SIGKILL for a runtime that fails its startup or liveness probe. A hung process ignores SIGTERM. */
const HUNG_GRACE_S = 5;

export interface TemplateInput {
  parent: UserSwarm;
  spec: UserSwarmSpec;
  image: string;
  settings: TemplateSettings;
}

export interface DeploymentInput extends TemplateInput {
  settings: RenderSettings;
}

/** A Deployment with one pod, or none if suspended. */
export function renderDeployment(input: DeploymentInput): KubernetesObject {
  const template = renderTemplate(input);
  const annotations = {
    [REVISION]: revisionOf(template),
    [PLATFORM_REVISION]: input.settings.platformRevision,
    [SPEC_REVISION]: specRevision(input.spec),
    [TEMPLATE]: JSON.stringify(template),
  };
  return deploymentOf(childIdentityOf(input.parent, input.spec), {
    template,
    annotations,
    pods: input.spec.suspend ? 0 : 1,
  });
}

interface DeploymentContent {
  template: object;
  annotations: Record<string, string>;
  pods: 0 | 1;
}

/** The Deployment for a pod template. */
export function deploymentOf(
  { name, namespace, userSwarm }: ChildIdentity,
  { template, annotations, pods }: DeploymentContent,
): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: childLabels(userSwarm), annotations },
    spec: {
      replicas: pods,
      strategy: { type: 'Recreate' },
      progressDeadlineSeconds: START_DEADLINE_S,
      revisionHistoryLimit: 1,
      // Immutable after creation.
      selector: { matchLabels: runtimeSelector(userSwarm) },
      template,
    },
  };
}

/** The pod template, independent of `suspend`. */
export function renderTemplate(input: TemplateInput): object {
  const { name, userSwarm } = childIdentityOf(input.parent, input.spec);
  const { pods } = input.settings;
  const annotations = {
    ...pods.annotations,
    ...(pods.secretRevision === undefined ? {} : { [SECRET_REVISION]: pods.secretRevision }),
  };
  return {
    metadata: {
      labels: {
        ...pods.labels,
        ...childLabels(userSwarm),
        ...modelAccessLabels(input.spec, input.settings),
        ...dnsLabels(input.spec, input.settings),
      },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      serviceAccountName: name,
      automountServiceAccountToken: false,
      // Service environment variables could collide with runtime settings.
      enableServiceLinks: false,
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: pods.terminationGracePeriodSeconds,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: NON_ROOT_UID,
        runAsGroup: NON_ROOT_UID,
        fsGroup: NON_ROOT_UID,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [renderContainer(input)],
      volumes: [
        { name: 'cache', emptyDir: { sizeLimit: '512Mi' } },
        { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } },
        ...trustedVolumes(pods),
      ],
      ...scheduling(pods),
      ...(pods.hostUsers === undefined ? {} : { hostUsers: pods.hostUsers }),
      ...dnsFields(input.spec, input.settings),
    },
  };
}

/** Leaves out empty fields: the API server does not store them, and the sent object must equal the stored one. */
function scheduling(pods: TemplateSettings['pods']): object {
  const { imagePullSecrets, nodeSelector, tolerations, affinity, topologySpreadConstraints } = pods;
  const { priorityClassName, runtimeClassName } = pods;
  const fields = { imagePullSecrets, nodeSelector, tolerations, affinity, topologySpreadConstraints };
  return Object.fromEntries(
    Object.entries({ ...fields, priorityClassName, runtimeClassName }).filter(
      ([, value]) => value !== undefined && Object.keys(value).length > 0,
    ),
  );
}

function renderContainer({ parent, spec, image, settings }: TemplateInput): object {
  const { port } = spec.runtime;
  const secret = spec.config.envSecretRef?.name;
  const hungGraceS = Math.min(HUNG_GRACE_S, settings.pods.terminationGracePeriodSeconds);
  return {
    name: RUNTIME_CONTAINER,
    image,
    imagePullPolicy: settings.pods.imagePullPolicy,
    env: renderEnvironment(parent, spec, settings),
    ...(secret === undefined ? {} : { envFrom: [{ secretRef: { name: secret } }] }),
    ports: [{ name: 'grpc', protocol: 'TCP', containerPort: port }],
    resources: renderResources(spec.runtime.resources, settings.pods.resources),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: NON_ROOT_UID,
      runAsGroup: NON_ROOT_UID,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    // The shortest probe period, so that readiness is reported early.
    startupProbe: {
      ...probe(port, { periodSeconds: 1, timeoutSeconds: 1, failureThreshold: STARTUP_PROBE_S }),
      terminationGracePeriodSeconds: hungGraceS,
    },
    readinessProbe: probe(port, { periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 3 }),
    // A hung runtime is killed after 20 to 25 s plus its grace period. One that is only busy for some seconds is not.
    livenessProbe: {
      ...probe(port, { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 4 }),
      terminationGracePeriodSeconds: hungGraceS,
    },
    terminationMessagePath: '/dev/termination-log',
    // The last 2 KiB of the log explain why the container stopped.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'cache', mountPath: '/var/cache/uswarm' },
      { name: 'tmp', mountPath: '/tmp' },
      ...trustedMounts(settings.pods),
    ],
  };
}

interface ProbeTiming {
  periodSeconds: number;
  timeoutSeconds: number;
  failureThreshold: number;
}

const probe = (port: number, timing: ProbeTiming): object => ({
  grpc: { port, service: '' },
  ...timing,
  successThreshold: 1,
});
