import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { read, utils } from '@e965/xlsx';
import { type CodeFile, type CodeResult, type CodeRunner, createCodeRunner, type Language } from './index.js';

const { signal } = new AbortController();
/** The machine may be busy. */
const ENOUGH_MS = 240_000;
const limits = { timeMs: ENOUGH_MS, processorMs: 60_000 };
const CSV = { name: 'sales.csv', bytes: Buffer.from('month,cups\nJanuary,120\nFebruary,90\n') };

let runner: CodeRunner;
beforeAll(() => {
  runner = createCodeRunner({ limits, processes: 2 });
});
afterAll(() => runner.close());

async function run(language: Language, code: string, files: readonly CodeFile[] = []): Promise<CodeResult> {
  return runner.run({ language, code, files, signal });
}

const textOf = ({ files }: CodeResult, name: string): string =>
  Buffer.from(files.find((file) => file.name === name)?.bytes ?? []).toString();

jest.setTimeout(ENOUGH_MS);

describe('JavaScript', () => {
  it('returns what the code prints, and its last value', async () => {
    expect(await run('javascript', 'console.log("cups", { tea: 2 });\n[1, 2].map((n) => n * 2)')).toEqual({
      output: 'cups { "tea": 2 }\n[ 2, 4 ]\n',
      files: [],
      durationMs: expect.any(Number),
    });
  });

  it('awaits', async () => {
    expect(await run('javascript', 'const n = await Promise.resolve(41);\nprint(n + 1)')).toMatchObject({
      output: '42\n',
    });
  });

  it('reports the line of an exception', async () => {
    const { error, output } = await run(
      'javascript',
      'print("before");\nfunction f() {\n  throw new TypeError("no tea");\n}\nf();',
    );
    expect({ error, output }).toEqual({
      output: 'before\n',
      error: { reason: 'exception', message: expect.stringMatching(/^TypeError: no tea\n.*at f \(main\.js:3/) },
    });
  });

  it('reports a syntax error', async () => {
    expect((await run('javascript', 'let = ;')).error).toMatchObject({ reason: 'exception' });
  });

  it('reports endless recursion', async () => {
    expect((await run('javascript', 'function f() { return f() + 1; }\nf()')).error).toMatchObject({
      reason: 'exception',
    });
  });

  it('ends code that needs too much memory', async () => {
    const { error } = await run('javascript', 'const all = []; for (;;) all.push(new Array(1000).fill(1));');
    expect(error).toEqual({ reason: 'memory', message: 'The code needs too much memory.' });
  });

  it('reads a CSV file and writes a chart', async () => {
    const code = `
      const rows = readFile('sales.csv').trim().split('\\n').slice(1).map((line) => line.split(','));
      const bars = rows.map(([, cups], n) => \`<rect x="\${n * 20}" width="10" height="\${cups}"/>\`);
      writeFile('chart.svg', \`<svg xmlns="http://www.w3.org/2000/svg">\${bars.join('')}</svg>\`);
      writeFile('data.bin', new Uint8Array([0, 255, 128]));`;
    const { files, error } = await run('javascript', code, [CSV]);
    expect(error).toBeUndefined();
    expect(
      files.map(({ name, type, bytes }) => ({ name, type, start: Buffer.from(bytes).toString('hex', 0, 4) })),
    ).toEqual([
      { name: 'chart.svg', type: 'image/svg+xml', start: '3c737667' },
      { name: 'data.bin', type: 'application/octet-stream', start: '00ff80' },
    ]);
  });
});

describe('Python', () => {
  it('returns what the code prints to both streams, and its last value', async () => {
    const result = await run('python', 'import sys\nprint("tea")\nprint("hot", file=sys.stderr)\n{"cups": 6 * 7}');
    expect(result).toMatchObject({ output: "tea\nhot\n{'cups': 42}\n", files: [] });
  });

  it('reports an exception with its lines, and returns the files before it', async () => {
    const code = 'open("a.txt", "w").write("kept")\ndef f(n):\n    return 1 / n\nf(0)';
    const result = await run('python', code);
    expect(result.error).toEqual({
      reason: 'exception',
      message: expect.stringMatching(/^Traceback[^]*line 4, in <module>[^]*line 3, in f[^]*ZeroDivisionError/),
    });
    expect(textOf(result, 'a.txt')).toBe('kept');
  });

  it('ends with an exit code, and awaits', async () => {
    const { error, output } = await run(
      'python',
      'import asyncio, sys\nawait asyncio.sleep(0)\nprint("slept")\nsys.exit(3)',
    );
    expect({ error, output }).toEqual({ output: 'slept\n', error: { reason: 'exception', message: 'SystemExit: 3' } });
  });

  it('gets an error when memory is full', async () => {
    const { error } = await run('python', 'all = []\nwhile True: all.append("x" * 10_000_000)');
    expect(error).toEqual({ reason: 'memory', message: expect.stringContaining('MemoryError') });
  });

  it('reads a CSV file, and returns only files that are new or changed', async () => {
    const code = `
import csv, os, zipfile
with open('sales.csv') as file: cups = [int(row['cups']) for row in csv.DictReader(file)]
os.mkdir('out')
open('out/sum.txt', 'w').write(str(sum(cups)))
open('b.csv', 'a').write('3\\n')
with zipfile.ZipFile('all.zip', 'w') as archive: archive.writestr('a', 'b')`;
    const result = await run('python', code, [CSV, { name: 'b.csv', bytes: Buffer.from('1\n') }]);
    expect(result.files.map(({ name }) => name)).toEqual(['all.zip', 'b.csv', 'out-sum.txt']);
    expect([textOf(result, 'out-sum.txt'), textOf(result, 'b.csv')]).toEqual(['210', '1\n3\n']);
  });

  it('draws a chart that loads nothing, and writes sheets', async () => {
    const code = `
import pygal, openpyxl, xlsxwriter, tabulate
chart = pygal.Bar(title='Cups')
chart.add('tea', [1, 2, 3])
chart.render_to_file('chart.svg')
chart.render_to_png('chart.png')
book = openpyxl.Workbook()
book.active.append(['tea', 42])
book.save('one.xlsx')
other = xlsxwriter.Workbook('other.xlsx')
other.add_worksheet('Cups').write(0, 0, 7)
other.close()
print(tabulate.tabulate([['tea', 1]]))`;
    const result = await run('python', code);
    expect(result.error).toBeUndefined();
    const chart = textOf(result, 'chart.svg');
    expect(chart).toContain('<svg');
    expect(chart).not.toMatch(/<script[^>]+href/);
    const picture = Buffer.from(result.files[0]?.bytes ?? []);
    // Twice as wide as the chart.
    expect([picture.toString('latin1', 1, 4), picture.readUInt32BE(16)]).toEqual(['PNG', 1600]);
    const cells = result.files.slice(2).map(({ bytes }) => {
      const { Sheets, SheetNames } = read(bytes);
      return utils.sheet_to_json(Sheets[SheetNames[0] ?? ''] ?? {}, { header: 1 });
    });
    expect(cells).toEqual([[['tea', 42]], [[7]]]);
    expect(result.files.at(-1)?.type).toMatch(/spreadsheetml/);
  });
});

describe('limits', () => {
  const limited = async (
    own: Partial<Parameters<typeof createCodeRunner>[0]>,
    use: (of: CodeRunner) => Promise<void>,
  ) => {
    const of = createCodeRunner({ limits, ...own });
    try {
      await use(of);
    } finally {
      await of.close();
    }
  };

  it.each(['python', 'javascript'] as const)('stops endless %s, and returns what it has printed', async (language) => {
    const code = { python: 'print("begun")\nwhile True: pass', javascript: 'print("begun"); for (;;);' }[language];
    const own = { limits: { ...limits, processorMs: language === 'python' ? 15_000 : 3_000 } };
    await limited(own, async (of) => {
      const { error, output } = await of.run({ language, code, signal });
      expect({ error, output }).toEqual({
        output: expect.any(String),
        error: { reason: 'time', message: expect.stringContaining('was stopped') },
      });
    });
  });

  it('stops code that waits for too long', () =>
    limited({ limits: { ...limits, timeMs: 3_000 } }, async (of) => {
      const { error } = await of.run({ language: 'javascript', code: 'await new Promise(() => undefined)', signal });
      // Nothing can end the wait, so that the code has ended.
      expect(error).toBeUndefined();
      const waiting = await of.run({ language: 'python', code: 'import time\ntime.sleep(200)', signal });
      expect(waiting.error).toMatchObject({ reason: 'time' });
    }));

  it('stops a process whose memory is too large', () =>
    limited({ limits: { ...limits, memoryBytes: 60 * 1024 * 1024 } }, async (of) => {
      const { error } = await of.run({ language: 'javascript', code: 'for (;;);', signal });
      expect(error).toEqual({ reason: 'memory', message: 'The code needs too much memory and was stopped.' });
    }));

  it('cuts long output', async () => {
    const { output, error } = await run('javascript', 'for (let n = 0; n < 1e5; n += 1) print("tea and more tea");');
    expect(error).toBeUndefined();
    expect(output.length).toBeLessThan(66_000);
    expect(output).toMatch(/\[The output is longer and was cut\.\]\n$/);
  });

  it('returns no files when there are a thousand', async () => {
    const codes = {
      python: 'for n in range(1000): open(f"{n}.txt", "w").write("x")',
      javascript: 'for (let n = 0; n < 1000; n += 1) writeFile(n + ".txt", "x")',
    };
    for (const language of ['python', 'javascript'] as const) {
      const { error, files } = await run(language, codes[language]);
      expect({ error, files }).toEqual({
        files: [],
        error: { reason: 'files', message: 'The code wrote more than 20 files. Write fewer, or one ZIP file.' },
      });
    }
  });

  it('returns no files that are too large', () =>
    limited({ limits: { ...limits, maxFileBytes: 1024 * 1024 } }, async (of) => {
      const code = 'writeFile("a.bin", new Uint8Array(1024 * 1024 + 1))';
      const { error, files } = await of.run({ language: 'javascript', code, signal });
      expect({ error, files }).toEqual({
        files: [],
        error: { reason: 'files', message: expect.stringContaining('1 MiB') },
      });
    }));

  it('refuses long code and large files without a process', async () => {
    const never = createCodeRunner({ program: new URL('file:///nothing.js'), limits: { inputBytes: 10 } });
    const long = await never.run({ language: 'python', code: ' '.repeat(300_000), signal });
    expect(long.error?.message).toBe('The code has more than 256 KiB.');
    const large = await never.run({ language: 'python', code: '', files: [CSV], signal });
    expect(large.error?.reason).toBe('files');
    await never.close();
  });

  it('refuses code when too much waits', () =>
    limited({ queue: 0 }, async (of) => {
      const both = [1, 2].map((n) => of.run({ language: 'javascript', code: `print(${n})`, signal }));
      const results = await Promise.all(both);
      expect(results.map(({ output, error }) => error?.reason ?? output)).toEqual(['1\n', 'busy']);
    }));

  it('kills the process when its signal aborts', () =>
    limited({}, async (of) => {
      const abort = new AbortController();
      const running = of.run({ language: 'javascript', code: 'for (;;);', signal: abort.signal });
      setTimeout(() => abort.abort(new Error('the turn ended')), 500);
      await expect(running).rejects.toThrow('the turn ended');
    }));

  it('kills its processes when it is closed', async () => {
    const of = createCodeRunner({ limits });
    const running = of.run({ language: 'javascript', code: 'for (;;);', signal });
    await Promise.all([expect(running).rejects.toThrow('The runner of code is closed.'), of.close()]);
  });

  it('reports a crash of the program', async () => {
    const crashes: string[] = [];
    const program = new URL('../dist/protocol.js', import.meta.url);
    await limited({ program, onCrash: ({ exit }) => crashes.push(exit) }, async (of) => {
      const { error } = await of.run({ language: 'python', code: '', signal });
      expect({ error, crashes }).toEqual({
        crashes: ['code 0'],
        error: { reason: 'crash', message: 'The interpreter ended without a result.' },
      });
    });
  });
});

it('pins each Python package by its hash', async () => {
  const requirements = await readFile(new URL('../python/requirements.txt', import.meta.url), 'utf8');
  const packages = requirements.match(/^[a-z].*==/gm) ?? [];
  expect(requirements.match(/--hash=sha256:[\da-f]{64}$/gm)).toHaveLength(packages.length);
});
