import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runInContext } from './context.js';
import { createLogger } from './logger.js';

function logging(level?: string) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ service: 'tested', destination, ...(level === undefined ? {} : { level }) });
  return { logger, lines, entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('the logger', () => {
  it('writes one line of JSON with level, time and service', () => {
    const { logger, lines, entries } = logging();
    logger.info({ port: 8080 }, 'listens\non two lines');
    expect(lines).toEqual([expect.stringMatching(/^[^\n]+\n$/)]);
    expect(entries()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        service: 'tested',
        port: 8080,
        msg: 'listens\non two lines',
      },
    ]);
  });

  it('writes entries in order before the process exits, even while the thread pool is busy', async () => {
    const program = `
      import { pbkdf2 } from 'node:crypto';
      import { createLogger } from ${JSON.stringify(new URL('../dist/logger.js', import.meta.url).href)};
      const logger = createLogger({ service: 'tested' });
      pbkdf2('', '', 2_000_000, 64, 'sha512', () => undefined);
      logger.error('first');
      logger.fatal('second');
      process.exit(1);`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      env: { UV_THREADPOOL_SIZE: '1' },
    }).catch((error: unknown) => error as { stdout: string });
    const messages = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toEqual(['first', 'second']);
  });

  it('omits entries below its level', () => {
    const { logger, entries } = logging('warn');
    logger.info('not shown');
    logger.warn('shown');
    expect(entries()).toMatchObject([{ level: 'warn', msg: 'shown' }]);
  });

  it.each([
    'authorization',
    'cookie',
    'x-token',
    'x-e2e-token',
    'x-signature',
    'token',
    'id_token',
    'api_key',
    'password',
    'secret',
    'text',
    'content',
  ])('redacts %s at the top level and in nested objects', (field) => {
    const { logger, lines, entries } = logging();
    const hidden = { [field]: 'hunter2', id: 7 };
    logger.info(hidden);
    logger.info({ request: hidden });
    logger.child({ request: { headers: hidden } }).info({ body: { message: hidden } });
    expect(lines.join('')).not.toContain('hunter2');
    expect(entries()).toMatchObject([
      { [field]: '[redacted]', id: 7 },
      { request: { [field]: '[redacted]', id: 7 } },
      { request: { headers: { [field]: '[redacted]', id: 7 } }, body: { message: { [field]: '[redacted]', id: 7 } } },
    ]);
  });

  it('adds the request id of the current request', () => {
    const { logger, entries } = logging();
    runInContext({ requestId: 'r-1', traceId: 't-1' }, () => logger.info({ port: 1 }, 'within'));
    logger.info('outside');
    expect(entries()).toMatchObject([{ requestId: 'r-1', traceId: 't-1', port: 1 }, { msg: 'outside' }]);
    expect(entries()[1]).not.toHaveProperty('requestId');
  });

  it('does not log data that an error message quotes', () => {
    const { logger, lines, entries } = logging();
    const quoting = [
      () => JSON.parse('my diary\n    at night') as unknown,
      () => {
        throw Object.assign(new Error('invalid input syntax for type uuid: "my diary"'), { code: '22P02' });
      },
    ];
    for (const run of quoting) {
      try {
        run();
      } catch (error) {
        logger.error({ err: new Error('failed', { cause: error }) });
      }
    }
    expect(entries()).toHaveLength(2);
    expect(lines.join('')).not.toContain('diary');
    expect(entries()[1]).toMatchObject({
      err: { message: 'failed', cause: { code: '22P02', stack: expect.stringContaining('logger.test') } },
    });
  });

  it('logs message and stack of an error', () => {
    const { logger, entries } = logging();
    logger.error({ err: new Error('broken') }, 'failed');
    expect(entries()).toMatchObject([
      { err: { type: 'Error', message: 'broken', stack: expect.stringContaining('Error: broken') } },
    ]);
  });
});
