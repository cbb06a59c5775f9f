import { expect, it } from '@jest/globals';
import { networkScript, readNodes } from './node-network.mjs';

it('gives each node its own range of pod addresses, and routes to the others', () => {
  const item = (name, address, podCIDR) => ({
    metadata: { name },
    spec: { podCIDR },
    status: {
      addresses: [
        { type: 'Hostname', address: name },
        { type: 'InternalIP', address },
      ],
    },
  });
  const nodes = readNodes({
    items: [item('a', '172.18.0.2', '10.244.0.0/24'), item('b', '172.18.0.3', '10.244.1.0/24')],
  });
  const script = networkScript(nodes[1], nodes);
  expect(script).toContain('"subnet": "10.244.1.0/24"');
  expect(script).toMatch(/ip route replace 10\.244\.0\.0\/24 via 172\.18\.0\.2$/);
  expect(script).not.toContain('172.18.0.3');
});
