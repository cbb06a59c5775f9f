import assert from 'node:assert/strict';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRuntimePool } from './runtime-pool.js';

const PLACES = 2;
const NAMES = [...'abcdef'];

/** A machine with its processes, turns and pending reconciles: a reference implementation with plain collections. */
class Machine {
  readonly processes = new Set<string>();
  /** Wanted, and not started since. */
  readonly requested = new Set<string>();
  /** Running turns with the functions that end their use. */
  readonly turns: { name: string; end: () => void }[] = [];
  readonly stored = new Set<string>();
  readonly due = new Set<string>();
  readonly activity = new Map<string, number>();
  readonly kept = new Set<string>();
  private clock = 0;
  readonly pool = createRuntimePool({
    places: PLACES,
    requestReconcile: (name) => {
      this.due.add(name);
      if (this.pool.isEvicted(name)) this.checkVictim(name);
      else this.active(name);
    },
  });

  private active(name: string): void {
    this.activity.set(name, (this.clock += 1));
    this.kept.delete(name);
  }
  isBusy = (name: string): boolean => this.turns.some((turn) => turn.name === name);
  private isHolder = (name: string): boolean => this.activity.has(name);

  /** The victim is the idlest runtime that is neither busy nor evicted nor kept. */
  private checkVictim(victim: string): void {
    assert(!this.isBusy(victim), `${victim} is busy`);
    const idler = [...this.activity].filter(
      ([name, at]) =>
        at < (this.activity.get(victim) ?? 0) &&
        !this.isBusy(name) &&
        !this.kept.has(name) &&
        !this.pool.isEvicted(name),
    );
    assert.deepEqual(idler, [], `${victim} is not the idlest runtime`);
  }

  request(name: string): void {
    if (!this.processes.has(name)) this.requested.add(name);
    this.due.add(name);
  }
  store(name: string): void {
    this.request(name);
    this.stored.add(name);
  }
  begin(name: string): void {
    if (!this.processes.has(name) || !this.stored.delete(name)) return;
    this.turns.push({ name, end: this.pool.use(name) });
  }
  end(name: string): void {
    const index = this.turns.findIndex((turn) => turn.name === name);
    if (index === -1) return;
    const [turn] = this.turns.splice(index, 1);
    if (!this.isBusy(name)) this.active(name);
    turn?.end();
  }
  /** Acts as the reconciler and the driver do. */
  reconcile(name: string): void {
    this.due.delete(name);
    if (this.processes.has(name)) return this.yield(name);
    if (!this.requested.has(name)) return;
    const before = this.isHolder(name);
    // The pool gives the place during the call.
    if (!before && !this.pool.isQueued(name) && this.activity.size < PLACES) this.active(name);
    if (!this.pool.admit(name)) return;
    this.processes.add(name);
    this.requested.delete(name);
    this.check();
    this.yield(name);
  }
  private yield(name: string): void {
    this.kept.delete(name);
    if (!this.pool.mustYield(name)) return;
    if (this.stored.has(name) || this.isBusy(name)) {
      this.kept.add(name);
      this.pool.keep(name);
      return;
    }
    this.drop(name);
  }
  private drop(name: string): void {
    this.processes.delete(name);
    this.requested.delete(name);
    this.activity.delete(name);
    this.kept.delete(name);
    this.pool.release(name);
  }
  remove(name: string): void {
    while (this.isBusy(name)) this.end(name);
    this.stored.delete(name);
    this.drop(name);
  }
  crash(name: string): void {
    if (this.processes.delete(name)) this.request(name);
  }
  failStart(name: string): void {
    const waits = NAMES.some(this.pool.isQueued);
    if (!this.isHolder(name) || this.processes.has(name) || !waits) return;
    this.activity.delete(name);
    this.kept.delete(name);
    this.pool.requeue(name);
    this.request(name);
  }
  check(): void {
    assert(this.processes.size <= PLACES, `${this.processes.size} processes`);
    for (const name of NAMES) {
      assert(!this.pool.isEvicted(name) || !this.isBusy(name), `${name} is evicted and busy`);
      if (this.pool.isQueued(name)) assert(this.activity.size === PLACES, `${name} waits beside a free place`);
    }
  }
}

const STEPS = ['request', 'store', 'begin', 'end', 'reconcile', 'remove', 'crash', 'failStart'] as const;
const script = fc.array(fc.record({ step: fc.constantFrom(...STEPS), name: fc.constantFrom(...NAMES) }), {
  maxLength: 80,
});

/** Runs everything due, and begins and ends all turns, until nothing is left. */
function settle(machine: Machine): void {
  for (let round = 0; round < 100; round += 1) {
    for (const name of machine.due) machine.reconcile(name);
    for (const name of NAMES) machine.begin(name);
    for (const name of NAMES) {
      machine.end(name);
      machine.check();
    }
    if (machine.requested.size + machine.stored.size + machine.due.size === 0) return;
  }
  assert.fail(`starts wait forever: ${[...machine.requested].join(' ')}`);
}

it('a pool never exceeds its places, evicts only the idlest runtime without work, and serves every start', () => {
  const run = fc.property(script, (steps) => {
    const machine = new Machine();
    for (const { step, name } of steps) {
      machine[step](name);
      machine.check();
    }
    settle(machine);
  });
  expect(() => fc.assert(run, { numRuns: 2_000 })).not.toThrow();
});
