import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { parseEnvelope } from '@uswarm/contract';
import { probeEnvelope } from './publish-probes.js';

it('gateways accept a probe', () => {
  const probe = probeEnvelope(randomUUID(), 'bench', '1');
  expect(parseEnvelope(probe)).toEqual(probe);
});
