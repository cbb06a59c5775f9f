import { describe, expect, it } from '@jest/globals';
import { answerJson, row, startFakeSearxng } from '../test/fake-searxng.js';
import { runProgram } from '../test/run-program.js';

const cli = (args: readonly string[], env?: Record<string, string>) => runProgram('cli.ts', args, env);

describe('the search command', () => {
  it('TOOL-004 TOOL-022: queries SVC_SEARCH_ENDPOINT and prints the results as text', async () => {
    await using searxng = await startFakeSearxng(answerJson({ results: [row('tea'), row('pot')] }));
    const finished = await cli(['green', 'tea'], { SVC_SEARCH_ENDPOINT: searxng.endpoint });
    expect(finished).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        '1. Title tea\n   https://example.com/tea\n   About tea\n   found by alpha\n',
        '2. Title pot\n   https://example.com/pot\n   About pot\n   found by alpha\n',
      ].join('\n'),
    });
    expect(searxng.requests[0]?.url.searchParams.get('q')).toBe('green tea');
  });

  it('TOOL-005: prefers --searxng-endpoint to SVC_SEARCH_ENDPOINT', async () => {
    await using asked = await startFakeSearxng(answerJson({ results: [] }));
    await using passedOver = await startFakeSearxng(answerJson({ results: [] }));
    const finished = await cli(['tea', '--searxng-endpoint', asked.endpoint], {
      SVC_SEARCH_ENDPOINT: passedOver.endpoint,
    });
    expect(finished).toMatchObject({ code: 0, stdout: 'No results.\n' });
    expect({ asked: asked.requests.length, passedOver: passedOver.requests.length }).toEqual({
      asked: 1,
      passedOver: 0,
    });
  });

  it('TOOL-003: prints the default endpoint in its help', async () => {
    const { code, stdout } = await cli(['--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('http://searxng.backend.svc.cluster.local:8080');
  });

  it('TOOL-021: limits the rows with --max-results and prints JSON with --json', async () => {
    await using searxng = await startFakeSearxng(answerJson({ results: [row('a'), row('b'), row('c')] }));
    const { stdout } = await cli(['x', '--max-results', '2', '--json', '--searxng-endpoint', searxng.endpoint]);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'ok', results: [{ title: 'Title a' }, { title: 'Title b' }] });
  });

  it('distinguishes failed engines from no results by text and exit code', async () => {
    await using searxng = await startFakeSearxng(
      answerJson({ results: [], unresponsive_engines: [['alpha', 'timeout']] }),
    );
    const { code, stdout } = await cli(['x', '--searxng-endpoint', searxng.endpoint]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^The search engines failed\.\n\nNote: Inconclusive: /);
  });
});

describe('the search command with credentials', () => {
  const unauthorised = (): ReturnType<typeof startFakeSearxng> =>
    startFakeSearxng((request, response) => {
      const isKnown = request.headers.authorization === `Basic ${Buffer.from('user:hunter2').toString('base64')}`;
      if (isKnown) answerJson({ results: [row('tea')] })(request, response);
      else response.writeHead(401).end();
    });

  it('sends those of the endpoint, or those of the environment', async () => {
    await using searxng = await unauthorised();
    const inUrl = searxng.endpoint.replace('//', '//user:hunter2@');
    const separate = { SVC_SEARCH_USERNAME: 'user', SVC_SEARCH_PASSWORD: 'hunter2' };
    const finished = await Promise.all([
      cli(['tea'], { SVC_SEARCH_ENDPOINT: inUrl }),
      cli(['tea'], { SVC_SEARCH_ENDPOINT: searxng.endpoint, ...separate }),
    ]);
    for (const { code, stdout } of finished)
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Title tea') });
  });

  it('does not print them if they are rejected', async () => {
    await using searxng = await unauthorised();
    const endpoint = searxng.endpoint.replace('//', '//user:wrong-hunter@');
    const { code, stdout, stderr } = await cli(['tea', '--searxng-endpoint', endpoint]);
    expect(code).toBe(1);
    expect(stderr).toContain('status 401 (it rejects the user name or the password)');
    expect(stdout + stderr).not.toContain('wrong-hunter');
  });
});

describe('a failed search command', () => {
  it('TOOL-030: prints "not configured" for an explicitly empty endpoint and exits with 1', async () => {
    const { code, stderr } = await cli(['tea'], { SVC_SEARCH_ENDPOINT: '' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^web_search_tool: searxng endpoint is not configured/);
  });

  it('TOOL-031: prints an unsuccessful status and exits with 1', async () => {
    await using searxng = await startFakeSearxng((_, response) => void response.writeHead(429).end());
    const { code, stderr } = await cli(['tea', '--searxng-endpoint', searxng.endpoint]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^web_search_tool: searxng returned status 429/);
  });

  it('prints the error as JSON with --json', async () => {
    const { code, stdout, stderr } = await cli(['tea', '--json', '--searxng-endpoint=']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'not_configured' } });
  });

  it.each([
    ['TOOL-020', [], 'query must be a non-empty text'],
    ['TOOL-021', ['x', '--max-results', '0'], 'max_results must be a whole number from 1 to 15'],
    ['TOOL-021', ['x', '--max-results=-1'], 'max_results must be a whole number from 1 to 15'],
    ['TOOL-021', ['x', '--max-results', '2.5'], 'max_results must be a whole number from 1 to 15'],
    ['TOOL-021', ['x', '--max-results', 'many'], 'max_results must be a whole number from 1 to 15'],
  ])('%s: %j is an argument error, exit code 2', async (_, args, text) => {
    await expect(cli(args)).resolves.toEqual({ code: 2, stdout: '', stderr: `web_search_tool: ${text}\n` });
  });

  it('exits with 2 for an unknown option', async () => {
    const { code, stderr } = await cli(['tea', '--pages', '3']);
    expect(code).toBe(2);
    expect(stderr).toContain("Unknown option '--pages'");
    expect(stderr).toContain('Usage: search <query>');
  });
});
