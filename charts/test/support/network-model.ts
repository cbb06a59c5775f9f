import { BlockList, isIPv6 } from 'node:net';
import { DNS_ACCESS, MODEL_ACCESS } from '@uswarm/contract/userswarm';
import { childLabels } from '@uswarm/webhook';
import { type Container, containersOf, type Manifest, ofKind, type PodTemplate, podTemplates } from './rendering.js';

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn'; values: string[] }[];
}
interface Peer {
  namespaceSelector?: Selector;
  podSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}
interface Port {
  protocol: 'TCP' | 'UDP';
  port: number | string;
}
interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: Port[];
}
export interface Policy {
  name: string;
  namespace: string;
  podSelector: Selector;
  policyTypes: ('Ingress' | 'Egress')[];
  ingress: Rule[];
  egress: Rule[];
}

/** The pod properties that policies use. */
export interface NetworkPod {
  name: string;
  namespace: string;
  labels: Record<string, string>;
  ports: Record<string, number>;
}

export const policiesOf = (manifests: readonly Manifest[]): Policy[] =>
  ofKind(manifests, 'NetworkPolicy').map(({ metadata, spec }) => ({
    name: metadata.name,
    namespace: metadata.namespace!,
    ingress: [],
    egress: [],
    ...(spec as Pick<Policy, 'podSelector' | 'policyTypes'>),
  }));

export const networkPod = (template: PodTemplate, namespace: string): NetworkPod => ({
  name: template.owner,
  namespace,
  labels: template.labels,
  ports: Object.fromEntries(
    containersOf(template).flatMap(({ ports = [] }: Container) => ports.map((each) => [each.name, each.containerPort])),
  ),
});

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      if (!['In', 'NotIn'].includes(operator)) throw new Error(`this model does not know the operator ${operator}`);
      const isIn = key in labels && values.includes(labels[key]!);
      return operator === 'In' ? isIn : !isIn;
    })
  );
}

export const selecting = (policies: readonly Policy[], pod: NetworkPod): Policy[] =>
  policies.filter(({ namespace, podSelector }) => namespace === pod.namespace && matches(podSelector, pod.labels));

/** Labels that the API server gives every namespace. */
const namespaceLabels = (namespace: string): Record<string, string> => ({ 'kubernetes.io/metadata.name': namespace });

function isPeer({ ipBlock, namespaceSelector, podSelector }: Peer, policy: Policy, pod: NetworkPod): boolean {
  if (ipBlock !== undefined) return false;
  const inNamespace =
    namespaceSelector === undefined
      ? policy.namespace === pod.namespace
      : matches(namespaceSelector, namespaceLabels(pod.namespace));
  return inNamespace && (podSelector === undefined || matches(podSelector, pod.labels));
}

const hasPort = ({ ports }: Rule, number: number, named: Record<string, number>): boolean =>
  ports === undefined ||
  ports.some(({ port, protocol }) => protocol === 'TCP' && (typeof port === 'string' ? named[port] : port) === number);

/** True if the policies allow a connection between two pods. */
export function connects(policies: readonly Policy[], from: NetworkPod, to: NetworkPod, port: number): boolean {
  const allows = (direction: 'Ingress' | 'Egress', at: NetworkPod, other: NetworkPod): boolean => {
    const relevant = selecting(policies, at).filter(({ policyTypes }) => policyTypes.includes(direction));
    if (relevant.length === 0) return true;
    return relevant.some((policy) =>
      (direction === 'Ingress' ? policy.ingress : policy.egress).some((rule) => {
        const peers = rule[direction === 'Ingress' ? 'from' : 'to'];
        const isNamed = peers === undefined || peers.some((peer) => isPeer(peer, policy, other));
        return isNamed && hasPort(rule, port, to.ports);
      }),
    );
  };
  return allows('Egress', from, to) && allows('Ingress', to, from);
}

const family = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

function covers(range: string, address: string): boolean {
  const [network = '', bits = ''] = range.split('/');
  if (family(network) !== family(address)) return false;
  const block = new BlockList();
  block.addSubnet(network, Number(bits), family(network));
  return block.check(address, family(address));
}

/** True if the policies allow a pod to reach an external address. */
export function leaves(policies: readonly Policy[], from: NetworkPod, address: string, port: number): boolean {
  return selecting(policies, from).some(({ egress }) =>
    egress.some((rule) => {
      const isNamed =
        rule.to === undefined ||
        rule.to.some(({ ipBlock }) => {
          if (ipBlock === undefined || !covers(ipBlock.cidr, address)) return false;
          return !(ipBlock.except ?? []).some((range) => covers(range, address));
        });
      return isNamed && hasPort(rule, port, {});
    }),
  );
}

/** True if the policies allow an external address to reach a pod. */
export function enters(policies: readonly Policy[], address: string, to: NetworkPod, port: number): boolean {
  return selecting(policies, to).some(({ ingress }) =>
    ingress.some((rule) => {
      const isNamed =
        rule.from === undefined ||
        rule.from.some(({ ipBlock }) => ipBlock !== undefined && covers(ipBlock.cidr, address));
      return isNamed && hasPort(rule, port, to.ports);
    }),
  );
}

/** A runtime that does not use a model gateway. */
export const runtime = (namespace = 'userswarms', workspace = 'workspace-a'): NetworkPod => ({
  name: `${namespace}/runtime`,
  namespace,
  labels: childLabels(workspace),
  ports: { grpc: 42_618 },
});
/** A runtime that uses it. */
export const gatewayRuntime = (namespace = 'userswarms'): NetworkPod => ({
  ...runtime(namespace),
  labels: { ...runtime().labels, [MODEL_ACCESS.label]: MODEL_ACCESS.gateway },
});
/** One that also resolves no names. */
export const runtimeWithoutDns = (): NetworkPod => {
  const pod = gatewayRuntime();
  return { ...pod, labels: { ...pod.labels, [DNS_ACCESS.label]: DNS_ACCESS.none } };
};
export const unrelatedPod = (namespace: string, labels: Record<string, string> = {}): NetworkPod => ({
  name: `${namespace}/unrelated`,
  namespace,
  labels,
  ports: { http: 8080 },
});
export const podsOf = (manifests: readonly Manifest[]): NetworkPod[] =>
  podTemplates(manifests).map((template) => networkPod(template, 'backend'));
export const podOf = (manifests: readonly Manifest[], name: string): NetworkPod => {
  const found = podsOf(manifests).find((pod) => pod.name === name);
  if (found === undefined) throw new Error(`there is no pod of ${name}`);
  return found;
};

/** Addresses that no pod reaches over rules for the internet. */
export const PRIVATE = [
  '10.96.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.18.0.2',
  '192.0.0.192',
  '192.168.1.1',
  '224.0.0.1',
  '::1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::a00:1',
  '64:ff9b::c0a8:1',
  'fd00:ec2::254',
  'fe80::1',
];
export const PUBLIC = ['1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '64:ff9b::101:101'];
