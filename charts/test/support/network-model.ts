import { BlockList, isIPv6 } from 'node:net';
import { type Container, containersOf, type Manifest, ofKind, type PodTemplate } from './rendering.js';

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In'; values: string[] }[];
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

/** The properties of a pod that policies use. */
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
      if (operator !== 'In') throw new Error(`this model does not know the operator ${String(operator)}`);
      return values.includes(labels[key] ?? '');
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

/** Whether the policies allow a connection between two pods. */
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

/** Whether the policies allow a pod to reach an external address. */
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

/** Whether the policies allow an external address to reach a pod. */
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
