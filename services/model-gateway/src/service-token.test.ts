import { describe, expect, it } from '@jest/globals';
import { MODEL_GATEWAY } from '@uswarm/contract';
import { parseSigningKey, verifyModelCallsToken } from '@uswarm/service-kit';
import { createServiceToken } from './service-token.js';

const key = parseSigningKey(`test:${'k'.repeat(32)}`);
const SECOND_MS = 1_000;

describe('the service token of the model gateway', () => {
  it('is accepted by the internal API and reused for less than half a minute', async () => {
    let now = Date.now();
    const token = createServiceToken(key, () => now);
    const first = await token();
    expect(await verifyModelCallsToken([key], first)).toBe(MODEL_GATEWAY);
    now += 29 * SECOND_MS;
    expect(await token()).toBe(first);
  });

  it.each([
    ['half a minute has passed', 30 * SECOND_MS],
    ['the clock was set back', -SECOND_MS],
  ])('is signed again if %s', async (_case, passedMs) => {
    let now = Date.now();
    let signed = 0;
    const counting = {
      ...key,
      get id() {
        signed += 1;
        return key.id;
      },
    };
    const token = createServiceToken(counting, () => now);
    await token();
    await token();
    expect(signed).toBe(1);
    now += passedMs;
    await token();
    expect(signed).toBe(2);
  });
});
