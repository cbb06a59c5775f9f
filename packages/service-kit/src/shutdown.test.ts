import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { CloseStack } from './shutdown.js';

describe('CloseStack', () => {
  function recording() {
    const closed: string[] = [];
    const errors: unknown[] = [];
    const stack = new CloseStack({ error: (...entry: unknown[]) => void errors.push(entry) });
    return { closed, errors, stack };
  }

  it('closes components sequentially in reverse order', async () => {
    const { closed, stack } = recording();
    stack.defer('database', () => void closed.push('database'));
    stack.defer('server', async () => {
      closed.push('server begins');
      await new Promise((resolve) => setImmediate(resolve));
      closed.push('server ends');
    });
    await stack.close();
    expect(closed).toEqual(['server begins', 'server ends', 'database']);
  });

  it('closes each component once if close is called repeatedly', async () => {
    const { closed, stack } = recording();
    stack.defer('server', () => void closed.push('server'));
    await Promise.all([stack.close(), stack.close()]);
    await stack.close();
    expect(closed).toEqual(['server']);
  });

  it('continues after a component that fails to close, and logs its name', async () => {
    const { closed, errors, stack } = recording();
    const failure = new Error('stuck');
    stack.defer('database', () => void closed.push('database'));
    stack.defer('server', () => Promise.reject(failure));
    await stack.close();
    expect(closed).toEqual(['database']);
    expect(errors).toEqual([[{ err: failure, part: 'server' }, 'component failed to stop']]);
  });
});

describe('runService', () => {
  /** Runs a service process with this code as its start. */
  function service(start: string, options = '') {
    const program = `
      import { pino } from 'pino';
      import { runService } from './src/shutdown.ts';
      const say = (line) => () => console.log(line);
      const keepRunning = () => setInterval(() => {}, 60_000);
      await runService({ logger: pino() ${options} }, async (stack) => { ${start} });
    `;
    const node = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const child = spawn(process.execPath, node, {
      cwd: join(import.meta.dirname, '..'),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return { child, printed: text(child.stdout), ended: once(child, 'exit') };
  }

  const logged = (printed: string): Record<string, unknown>[] =>
    printed
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const said = (printed: string): string[] =>
    printed.split('\n').filter((line) => line !== '' && !line.startsWith('{'));

  it.each(['SIGTERM', 'SIGINT'] as const)('stops in reverse order on %s and exits with 0', async (signal) => {
    const { child, printed, ended } = service(`
      stack.defer('database', say('database'));
      stack.defer('server', say('server'));
      keepRunning();
      process.kill(process.pid, '${signal}');
    `);
    expect(await ended).toEqual([0, null]);
    expect(child.killed).toBe(false);
    expect(said(await printed)).toEqual(['server', 'database']);
    expect(logged(await printed)).toMatchObject([{ level: 30, signal, msg: 'stopping' }]);
  });

  it('stops the started components, logs one line and exits with 1 if the start fails', async () => {
    const { printed, ended } = service(`
      stack.defer('database', say('database'));
      throw new Error('DATABASE_URL is not set');
    `);
    expect(await ended).toEqual([1, null]);
    expect(said(await printed)).toEqual(['database']);
    expect(logged(await printed)).toMatchObject([{ level: 60, msg: 'DATABASE_URL is not set' }]);
  });

  it('exits with 1 if the shutdown exceeds its deadline', async () => {
    const { printed, ended } = service(
      `
      stack.defer('stuck', () => new Promise(() => {}));
      keepRunning();
      process.kill(process.pid, 'SIGTERM');
      `,
      ', shutdownDeadlineMs: 50',
    );
    expect(await ended).toEqual([1, null]);
    expect(logged(await printed)).toMatchObject([{ msg: 'stopping' }, { level: 50, msg: 'shutdown timed out' }]);
  });
});
