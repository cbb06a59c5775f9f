import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { BusEnvelope, SessionEnd } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import type { BusOptions, EventBus } from '../src/event-bus.js';

/** A valid durable envelope. */
export function deleted(workspaceId: string, seq: number): BusEnvelope {
  const subject = randomUUID();
  return {
    v: 2,
    kind: 'durable',
    workspace_id: workspaceId,
    epoch: 'e0',
    seq,
    event: 'conversation.deleted',
    subject_id: subject,
    at: '2026-11-24T12:00:00.000Z',
    payload: { workspace_id: workspaceId, seq, conversation_id: subject },
  };
}

export const seqs = (envelopes: readonly BusEnvelope[]): unknown[] =>
  envelopes.map((envelope) => (envelope.kind === 'ephemeral' ? envelope.event : envelope.seq));

/** Records envelopes; `until` resolves when the one with `seq` arrives. */
export function collect(): {
  received: BusEnvelope[];
  listener: (envelope: BusEnvelope) => void;
  until(seq: number): Promise<void>;
} {
  const received: BusEnvelope[] = [];
  const waiting: { seq: number; resolve: () => void }[] = [];
  const has = (seq: number): boolean =>
    received.some((envelope) => envelope.kind !== 'ephemeral' && envelope.seq === seq);
  return {
    received,
    listener(envelope) {
      received.push(envelope);
      for (const { seq, resolve } of waiting) if (has(seq)) resolve();
    },
    until: (seq) =>
      new Promise((resolve) => {
        if (has(seq)) resolve();
        else waiting.push({ seq, resolve });
      }),
  };
}

/** Tests the contract of `EventBus`. `open` returns a connected pair of buses, or one bus twice. */
export function describeBus(open: (options: BusOptions) => { publisher: EventBus; subscriber: EventBus }): void {
  let publisher: EventBus;
  let subscriber: EventBus;
  let workspaceId: string;
  const onInvalid = jest.fn();

  beforeEach(() => {
    onInvalid.mockClear();
    ({ publisher, subscriber } = open({ onInvalid }));
    workspaceId = randomUUID();
  });
  afterEach(async () => {
    await Promise.all([publisher.close(), subscriber.close()]);
  });

  it('delivers an envelope that is published after the subscription', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, inbox.listener);
    const envelope = deleted(workspaceId, 1);
    expect(await publisher.publish(envelope)).toBe(true);
    await inbox.until(1);
    expect(inbox.received).toEqual([envelope]);
  });

  it('keeps the order of a publisher', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, inbox.listener);
    const order = Array.from({ length: 200 }, (_, index) => index + 1);
    await Promise.all(order.map((seq) => publisher.publish(deleted(workspaceId, seq))));
    await inbox.until(200);
    expect(seqs(inbox.received)).toEqual(order);
  });

  it('delivers no envelopes of other workspaces', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, inbox.listener);
    await publisher.publish(deleted(randomUUID(), 1));
    await publisher.publish(deleted(workspaceId, 2));
    await inbox.until(2);
    expect(seqs(inbox.received)).toEqual([2]);
  });

  it('delivers to every listener of a workspace, and twice to a listener with two subscriptions', async () => {
    const [first, second] = [collect(), collect()];
    await Promise.all([
      subscriber.subscribe(workspaceId, first.listener),
      subscriber.subscribe(workspaceId, second.listener),
      subscriber.subscribe(workspaceId, second.listener),
    ]);
    await publisher.publish(deleted(workspaceId, 1));
    await publisher.publish(deleted(workspaceId, 2));
    await Promise.all([first.until(2), second.until(2)]);
    expect(seqs(first.received)).toEqual([1, 2]);
    expect(seqs(second.received)).toEqual([1, 1, 2, 2]);
  });

  it('stops delivery to a listener that unsubscribes, but not to others', async () => {
    const [leaving, staying] = [collect(), collect()];
    const unsubscribe = await subscriber.subscribe(workspaceId, leaving.listener);
    await subscriber.subscribe(workspaceId, staying.listener);
    unsubscribe();
    unsubscribe();
    await publisher.publish(deleted(workspaceId, 1));
    await staying.until(1);
    expect(leaving.received).toEqual([]);
  });

  it('accepts a subscription immediately after the last listener unsubscribed', async () => {
    const [before, after] = [collect(), collect()];
    const unsubscribe = await subscriber.subscribe(workspaceId, before.listener);
    unsubscribe();
    await subscriber.subscribe(workspaceId, after.listener);
    await publisher.publish(deleted(workspaceId, 1));
    await after.until(1);
    expect(before.received).toEqual([]);
    expect(seqs(after.received)).toEqual([1]);
  });

  it('drops and counts invalid envelopes, and delivers later ones', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, inbox.listener);
    await publisher.publish({ ...deleted(workspaceId, 1), seq: -1 } as BusEnvelope);
    await publisher.publish({ ...deleted(workspaceId, 1), v: 3 } as unknown as BusEnvelope);
    await publisher.publish(deleted(workspaceId, 2));
    await inbox.until(2);
    expect(seqs(inbox.received)).toEqual([2]);
    expect(onInvalid).toHaveBeenCalledTimes(2);
  });

  it('delivers events and fields of later releases unchanged, except fields of the header', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, inbox.listener);
    const later = { ...deleted(workspaceId, 1), event: 'later.event', payload: { later: { field: 1 } } } as BusEnvelope;
    await publisher.publish(Object.assign({ later: true }, later));
    await inbox.until(1);
    expect(inbox.received).toEqual([later]);
  });

  it('delivers skipped events', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, inbox.listener);
    const skip = { v: 2, kind: 'skip', workspace_id: workspaceId, epoch: 'e0', seq: 1, at: '' } as const;
    await publisher.publish(skip);
    await inbox.until(1);
    expect(inbox.received).toEqual([skip]);
  });

  it('delivers to other listeners when a listener throws', async () => {
    const inbox = collect();
    await subscriber.subscribe(workspaceId, () => {
      throw new Error('a broken listener');
    });
    await subscriber.subscribe(workspaceId, inbox.listener);
    await publisher.publish(deleted(workspaceId, 1));
    await inbox.until(1);
    expect(seqs(inbox.received)).toEqual([1]);
  });

  describe('session ends', () => {
    const end = (tokenHash: string | null = null): SessionEnd => ({
      v: 1,
      user_id: randomUUID(),
      token_hash: tokenHash,
    });
    /** Records session ends; `until` resolves when `count` have arrived. */
    const ends = () => {
      const received: SessionEnd[] = [];
      let next = Promise.withResolvers<void>();
      return {
        received,
        listener(one: SessionEnd) {
          received.push(one);
          next.resolve();
          next = Promise.withResolvers<void>();
        },
        async until(count: number) {
          while (received.length < count) await next.promise;
        },
      };
    };

    it('session ends are delivered to every listener until it unsubscribes', async () => {
      const [staying, leaving] = [ends(), ends()];
      await subscriber.onSessionEnd(staying.listener);
      const unsubscribe = await subscriber.onSessionEnd(leaving.listener);
      const [one, other] = [end(), end('ab'.repeat(32))];
      expect(await publisher.publishSessionEnd(one)).toBe(true);
      await Promise.all([staying.until(1), leaving.until(1)]);
      unsubscribe();
      await publisher.publishSessionEnd(other);
      await staying.until(2);
      expect(staying.received).toEqual([one, other]);
      expect(leaving.received).toEqual([one]);
    });

    it('invalid session ends are dropped and counted, and no workspace listener receives any', async () => {
      const [inbox, events] = [ends(), collect()];
      await subscriber.onSessionEnd(inbox.listener);
      await subscriber.subscribe(workspaceId, events.listener);
      await publisher.publishSessionEnd({ ...end(), token_hash: 'short' });
      await publisher.publishSessionEnd({ ...end(), user_id: 'not-a-uuid' });
      const good = end();
      await publisher.publishSessionEnd(good);
      await inbox.until(1);
      expect(inbox.received).toEqual([good]);
      expect(onInvalid).toHaveBeenCalledTimes(2);
      expect(events.received).toEqual([]);
    });
  });

  describe('after close', () => {
    it('a closed bus is unhealthy, rejects subscriptions and returns false for publications', async () => {
      await subscriber.subscribe(workspaceId, () => {});
      await subscriber.publish(deleted(workspaceId, 1));
      expect(await eventually(() => subscriber.healthy())).toBe(true);
      await subscriber.close();
      expect(subscriber.healthy()).toBe(false);
      await expect(subscriber.subscribe(workspaceId, () => {})).rejects.toThrow('closed');
      await expect(subscriber.publish(deleted(workspaceId, 2))).resolves.toBe(false);
      await expect(subscriber.onSessionEnd(() => {})).rejects.toThrow('closed');
      await expect(subscriber.publishSessionEnd({ v: 1, user_id: randomUUID(), token_hash: null })).resolves.toBe(
        false,
      );
    });
  });
}
