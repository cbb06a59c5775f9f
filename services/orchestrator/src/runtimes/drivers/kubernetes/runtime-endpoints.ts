import { isIPv6 } from 'node:net';
import { CONTROLLER_MANAGER, LABEL } from '@uswarm/contract/userswarm';
import {
  createStore,
  type InformerTiming,
  type KubeClient,
  type KubernetesObject,
  type Resource,
  startInformer,
  type Watch,
} from '@uswarm/kube-client';
import type { Logger } from '@uswarm/service-kit';

/** Knows a runtime pod's address before the kubelet has found the pod ready. */
export interface RuntimeEndpoints {
  /**
   * `http://host:port` of the UserSwarm's pod; undefined unless exactly one pod has an address and is not shutting
   * down.
   */
  addressOf(userSwarm: string): string | undefined;
  close(): Promise<void>;
}

export interface RuntimeEndpointsDeps {
  client: Pick<KubeClient, 'list'>;
  watch: Watch;
  namespace: string;
  /** Called when a UserSwarm's pod got an address. */
  onAddress: (userSwarm: string) => void;
  timing?: InformerTiming;
  logger: Logger;
}

const ENDPOINT_SLICES: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
};
/** Services pass their labels on to their slices. */
const SELECTOR = `endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io,${LABEL.managedBy}=${CONTROLLER_MANAGER}`;

interface EndpointSlice extends KubernetesObject {
  endpoints?: { addresses: string[]; conditions?: { terminating?: boolean } }[] | null;
  ports?: { port?: number }[] | null;
}

interface StoredSlice extends KubernetesObject {
  address?: string;
}

export function watchRuntimeEndpoints(deps: RuntimeEndpointsDeps): RuntimeEndpoints {
  const { client, watch, namespace, onAddress, timing, logger } = deps;
  const store = createStore({
    indexBy: userSwarmOf,
    reduce: withAddress,
    onChange({ before, after }) {
      const userSwarm = after && userSwarmOf(after);
      if (userSwarm === undefined || after?.['address'] === undefined) return;
      if (after['address'] !== before?.['address']) onAddress(userSwarm);
    },
  });
  const informer = startInformer({
    client,
    watch,
    resource: ENDPOINT_SLICES,
    namespace,
    labelSelector: SELECTOR,
    store,
    logger,
    ...(timing === undefined ? {} : { timing }),
  });
  return {
    addressOf(userSwarm) {
      if (informer.state() !== 'ready') return undefined;
      // A Service with two IP families has a slice for each.
      return store.indexed(userSwarm).flatMap((slice) => (slice as StoredSlice).address ?? [])[0];
    },
    close: () => informer.stop(),
  };
}

const userSwarmOf = ({ metadata }: KubernetesObject): string | undefined => metadata.labels?.[LABEL.instance];

function withAddress(slice: KubernetesObject): StoredSlice {
  const { apiVersion, kind, metadata } = slice;
  const address = addressIn(slice as EndpointSlice);
  return { apiVersion, kind, metadata, ...(address === undefined ? {} : { address }) };
}

function addressIn({ endpoints, ports }: EndpointSlice): string | undefined {
  const running = (endpoints ?? []).filter(({ conditions }) => conditions?.terminating !== true);
  const [ip, port] = [running[0]?.addresses[0], ports?.[0]?.port];
  if (running.length !== 1 || ip === undefined || port === undefined) return undefined;
  return `http://${isIPv6(ip) ? `[${ip}]` : ip}:${port}`;
}
