import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once `holds`. @throws after ten seconds. */
export async function eventually(holds: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${holds.toString()}`);
    await sleep(5);
  }
}
