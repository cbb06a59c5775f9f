import type { RuntimePods } from '../config/runtime-pods.js';

// Runtimes' outbound connections: trusted certificate authorities and the proxy.

const FOLDER = '/etc/uswarm/trusted-ca';
const FILE = 'ca.crt';

type Outbound = Pick<RuntimePods, 'trustedCA' | 'proxy' | 'extraEnv'>;

/** Variables that Node.js reads. A variable that the operator also sets is left out, because names must be unique. */
export function outboundVariables({ trustedCA, proxy, extraEnv }: Outbound): { name: string; value: string }[] {
  const variables = {
    ...(trustedCA === undefined ? {} : { NODE_EXTRA_CA_CERTS: `${FOLDER}/${FILE}` }),
    ...(proxy?.https === undefined ? {} : { HTTPS_PROXY: proxy.https }),
    ...(proxy?.http === undefined ? {} : { HTTP_PROXY: proxy.http }),
    ...(proxy === undefined ? {} : { NO_PROXY: proxy.noProxy, NODE_USE_ENV_PROXY: '1' }),
  };
  const taken = new Set(extraEnv.map(({ name }) => name));
  return Object.entries(variables).flatMap(([name, value]) => (taken.has(name) ? [] : [{ name, value }]));
}

/** Volumes in addition to the two of every runtime; none by default. */
export const trustedVolumes = ({ trustedCA }: Outbound): object[] =>
  trustedCA === undefined
    ? []
    : [
        {
          name: 'trusted-ca',
          configMap: { name: trustedCA.configMap, defaultMode: 0o644, items: [{ key: trustedCA.key, path: FILE }] },
        },
      ];

export const trustedMounts = ({ trustedCA }: Outbound): object[] =>
  trustedCA === undefined ? [] : [{ name: 'trusted-ca', mountPath: FOLDER, readOnly: true }];
