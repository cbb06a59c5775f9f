import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { createManualTimers } from '../../../test/manual-timers.js';
import { createPendingConnections } from './pending-connections.js';

class Connection extends EventEmitter {
  readonly request = {} as IncomingMessage;
  readonly transport = { maxHttpBufferSize: 20 };
  readonly close = (): void => void this.emit('close');
}

function setUp() {
  const timers = createManualTimers();
  const pending = createPendingConnections({
    clientAddress: () => '192.0.2.1',
    perAddress: 1,
    packetBytes: { bytes: 10, usual: 20 },
    timeoutMs: 5_000,
    timers,
  });
  const conn = new Connection();
  pending.add(conn);
  return { timers, pending, conn };
}

describe('pending connections', () => {
  it('keep nothing of a connection that is authenticated', () => {
    const { timers, pending, conn } = setUp();
    expect(pending.full(conn.request)).toBe(true);
    pending.authenticated(conn);
    expect(pending.full(conn.request)).toBe(false);
    expect(conn.listenerCount('close')).toBe(0);
    expect(timers.pending()).toBe(0);
  });

  it('count a connection once that is authenticated and then closed', () => {
    const { pending, conn } = setUp();
    pending.authenticated(conn);
    const other = new Connection();
    pending.add(other);
    conn.close();
    expect(pending.full(other.request)).toBe(true);
  });

  it('check the credentials of a connection once, and others after a refusal', () => {
    const { pending, conn } = setUp();
    const received = [pending.credentialsReceived(conn), pending.credentialsReceived(conn)];
    pending.refused(conn);
    received.push(pending.credentialsReceived(conn));
    pending.authenticated(conn);
    received.push(pending.credentialsReceived(conn));
    expect(received).toEqual([true, false, true, false]);
  });

  it('have a stricter limit for packets until they are authenticated', () => {
    const { pending, conn } = setUp();
    const receiver = {};
    conn.emit('upgrading', { socket: { _receiver: receiver } });
    const limits = () => [conn.transport.maxHttpBufferSize, Reflect.get(receiver, '_maxPayload')];
    const before = limits();
    pending.authenticated(conn);
    expect({ before, after: limits() }).toEqual({ before: [10, 10], after: [20, 20] });
    expect(conn.listenerCount('upgrading')).toBe(0);
  });

  it('close a connection whose credentials do not arrive in time', () => {
    const { timers, pending, conn } = setUp();
    timers.advance(5_000);
    expect(pending.full(conn.request)).toBe(false);
    expect(conn.listenerCount('close')).toBe(0);
  });
});
