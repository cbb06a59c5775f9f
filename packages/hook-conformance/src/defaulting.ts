import type { KubernetesObject } from '@uswarm/kube-types';
import { isObject, type Json, type JsonObject, wire } from './json.js';
import { storedQuantity } from './quantity.js';

/** The object as an API server stores it: with defaults, canonical quantities and no empty fields. */
export function withServerDefaults(object: KubernetesObject): KubernetesObject {
  const copy = wire(object) as KubernetesObject & { spec?: JsonObject };
  dropEmpty(copy.metadata as unknown as JsonObject, ['labels', 'annotations', 'finalizers', 'ownerReferences']);
  if (copy.kind === 'Service' && copy.spec !== undefined) defaultService(copy.spec);
  if (copy.kind === 'Deployment' && copy.spec !== undefined) defaultDeployment(copy.spec);
  return copy;
}

/** Adds the defaults that `target` does not have. */
function setDefaults(target: JsonObject, defaults: JsonObject): void {
  for (const [key, value] of Object.entries(defaults)) target[key] ??= wire(value);
}

/** Deletes empty fields, which Go omits from JSON. */
function dropEmpty(target: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    const value = target[name];
    if (value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
      delete target[name];
  }
}

const objects = (list: Json | undefined): JsonObject[] => (Array.isArray(list) ? list.filter(isObject) : []);
const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

function defaultService(spec: JsonObject): void {
  setDefaults(spec, { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' });
  // The API server allocates these at creation; the values are arbitrary.
  setDefaults(spec, {
    clusterIP: '10.96.7.7',
    clusterIPs: ['10.96.7.7'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  });
  for (const port of objects(spec['ports'])) setDefaults(port, { protocol: 'TCP', targetPort: port['port'] ?? 0 });
}

function defaultDeployment(spec: JsonObject): void {
  setDefaults(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} });
  const strategy = object(spec['strategy']);
  setDefaults(strategy, { type: 'RollingUpdate' });
  if (strategy['type'] === 'RollingUpdate')
    setDefaults(strategy, { rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } });
  const template = object(spec['template']);
  // Servers before 1.34 return it as null in every template.
  setDefaults(object(template['metadata']), { creationTimestamp: null });
  dropEmpty(object(template['metadata']), ['labels', 'annotations']);
  defaultPod(object(template['spec']));
}

function defaultPod(spec: JsonObject): void {
  setDefaults(spec, {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    // Deprecated field alias.
    ...(typeof spec['serviceAccountName'] === 'string' ? { serviceAccount: spec['serviceAccountName'] } : {}),
  });
  dropEmpty(spec, [
    'imagePullSecrets',
    'nodeSelector',
    'priorityClassName',
    'runtimeClassName',
    'tolerations',
    'topologySpreadConstraints',
  ]);
  for (const container of objects(spec['containers'])) defaultContainer(container);
}

function defaultContainer(container: JsonObject): void {
  const tag = /:([^/:]+)$/.exec(String(container['image']).split('@')[0] ?? '')?.[1] ?? 'latest';
  setDefaults(container, {
    imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    resources: {},
  });
  for (const port of objects(container['ports'])) setDefaults(port, { protocol: 'TCP' });
  for (const kind of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    const probe = container[kind];
    if (!isObject(probe)) continue;
    setDefaults(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
    if (isObject(probe['grpc'])) setDefaults(probe['grpc'], { service: '' });
  }
  for (const variable of objects(container['env'])) dropEmpty(variable, ['value']);
  dropEmpty(container, ['env', 'envFrom', 'ports', 'volumeMounts']);
  const resources = object(container['resources']);
  for (const list of ['requests', 'limits']) {
    const quantities = resources[list];
    if (!isObject(quantities)) continue;
    for (const [name, quantity] of Object.entries(quantities)) quantities[name] = storedQuantity(String(quantity));
  }
  dropEmpty(resources, ['requests', 'limits']);
}
