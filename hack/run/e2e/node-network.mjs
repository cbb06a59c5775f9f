import { basename } from 'node:path';
import { mustRun } from './commands.mjs';

/** The node image from sources has a network for one node, with the same addresses on each. */
const CONFIG = '/etc/cni/net.d/10-ptp.conflist';
/** Sets the routes again when the node is switched on. */
const UNIT = '/etc/systemd/system/pod-routes.service';

/**
 * Connects pods on several nodes with the image from sources: each node gives its pods addresses from a separate range, and has
 * routes to the others. The public node image does this itself.
 *
 * @param {{ kubectl: string, env: NodeJS.ProcessEnv }} cluster
 */
export async function connectNodes({ kubectl, env }) {
  const nodes = readNodes(JSON.parse(await mustRun(kubectl, ['get', 'nodes', '-o', 'json'], { env })));
  for (const node of nodes) {
    await mustRun('docker', ['exec', node.name, 'sh', '-c', networkScript(node, nodes)], {
      failure: `The network of ${node.name} could not be configured`,
    });
  }
}

/** @returns {{ name: string, address: string, pods: string }[]} from Node objects; `pods`: address range */
export function readNodes({ items }) {
  return items.map(({ metadata, spec, status }) => ({
    name: metadata.name,
    address: status.addresses.find(({ type }) => type === 'InternalIP').address,
    pods: spec.podCIDR,
  }));
}

/** Does nothing in a node with another network. Source addresses stay, because policies select pods by them. */
export function networkScript(node, nodes) {
  const routes = nodes
    .filter(({ name }) => name !== node.name)
    .map(({ address, pods }) => `ip route replace ${pods} via ${address}`);
  const unit = [
    '[Unit]',
    'After=network.target',
    'Before=kubelet.service',
    '[Service]',
    'Type=oneshot',
    ...routes.map((route) => `ExecStart=${route}`),
    '[Install]',
    'WantedBy=multi-user.target',
  ];
  return [
    `test -f ${CONFIG} || exit 0`,
    `sed -i 's#"subnet": "[^"]*"#"subnet": "${node.pods}"#; s#"ipMasq": true#"ipMasq": false#' ${CONFIG}`,
    `printf '%s\\n' ${unit.map((line) => `'${line}'`).join(' ')} >${UNIT}`,
    `systemctl enable ${basename(UNIT)}`,
    ...routes,
  ].join(' && ');
}
