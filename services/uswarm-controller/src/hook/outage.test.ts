import { beforeEach, describe, expect, it } from '@jest/globals';
import { createOutage, type Outage } from './outage.js';

describe('an outage of the webhook', () => {
  let time: number;
  let outage: Outage;
  beforeEach(() => {
    time = 0;
    outage = createOutage({ now: () => time, longMs: 10_000 });
  });

  it('lasts from the start of the first failed call to the next response', () => {
    expect(outage.lastedMs()).toBe(0);
    time = 3_000;
    outage.failed(1_000);
    outage.failed(2_500);
    expect(outage.lastedMs()).toBe(2_000);
    outage.answered();
    expect(outage.lastedMs()).toBe(0);
  });

  it('does not start with a call that began before the last response', () => {
    time = 2_000;
    outage.answered();
    outage.failed(1_000);
    time = 4_000;
    expect(outage.lastedMs()).toBe(0);
  });

  it('allows all calls during a short outage and one per second during a long one', () => {
    outage.failed(0);
    expect([outage.mayCall(), outage.mayCall()]).toEqual([true, true]);
    time = 10_000;
    expect([outage.mayCall(), outage.mayCall(), outage.mayCall()]).toEqual([true, false, false]);
    time = 11_000;
    expect([outage.mayCall(), outage.mayCall()]).toEqual([true, false]);
    outage.answered();
    expect([outage.mayCall(), outage.mayCall()]).toEqual([true, true]);
  });
});
