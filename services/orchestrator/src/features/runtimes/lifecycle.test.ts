import { describe, expect, it } from '@jest/globals';
import { nextState } from './lifecycle.js';
import type { RuntimeObservation } from './runtime-driver.js';
import type { RuntimeRow } from './runtimes.store.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const ADDRESS = 'http://127.0.0.1:42618';
const row = (more: Partial<RuntimeRow> = {}): RuntimeRow => ({
  workspace_id: 'w',
  user_id: 'u',
  desired: 'running',
  phase: 'Pending',
  reason: '',
  verified: false,
  address: null,
  instance_id: null,
  identified_at: null,
  failures: 0,
  updated_at: NOW,
  ...more,
});
const ready: RuntimeObservation = { phase: 'Ready', reason: '', address: ADDRESS };
const READY = {
  phase: 'Ready' as const,
  address: ADDRESS,
  verified: true,
  identified_at: new Date(0),
  instance_id: 'i',
};

describe('the next state of a runtime', () => {
  it('is Ready and verified once it named itself', () => {
    expect(nextState(row({ failures: 3 }), ready, 'i', NOW)).toEqual({
      phase: 'Ready',
      reason: '',
      address: ADDRESS,
      failures: 0,
      verified: true,
      identified_at: NOW,
      instance_id: 'i',
    });
  });

  it('is Progressing while it runs and has not answered yet', () => {
    expect(nextState(row(), ready, null, NOW)).toEqual({
      phase: 'Progressing',
      reason: 'NotAnswering',
      address: ADDRESS,
      failures: 1,
    });
  });

  it('stays as it is when one that was Ready does not answer: nothing is said of phase or time', () => {
    expect(nextState(row({ ...READY, failures: 4 }), ready, null, NOW)).toEqual({
      reason: 'NotAnswering',
      failures: 5,
    });
  });

  it('is Progressing again when it moved and has not answered at the new place', () => {
    expect(nextState(row({ ...READY, address: 'http://127.0.0.1:1' }), ready, null, NOW)).toMatchObject({
      phase: 'Progressing',
      address: ADDRESS,
    });
  });

  it.each(['Pending', 'Progressing', 'Error'] as const)('is %s when the driver sees that, with its reason', (phase) => {
    const observed: RuntimeObservation = { phase, reason: 'Because', address: null };
    expect(nextState(row({ ...READY, failures: 1 }), observed, null, NOW)).toEqual({
      phase,
      reason: 'Because',
      address: null,
      failures: 2,
    });
  });

  it('takes over another instance at the same place', () => {
    expect(nextState(row(READY), ready, 'another', NOW)).toMatchObject({
      phase: 'Ready',
      instance_id: 'another',
      identified_at: NOW,
    });
  });
});
