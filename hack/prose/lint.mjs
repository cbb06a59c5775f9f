import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { runQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { extractProse } from './extract.mjs';

const CONFIG = join(import.meta.dirname, 'vale.ini');
const LINTED = /\.(?:ts|js|mjs|md|gotmpl|ya?ml|sql|tpl|proto|sh|go|json|txt|py|kt)$|(?:^|\/)Dockerfile$/;

/** One place where the prose breaks a rule. @typedef {{ path: string, line: number, rule: string, match: string, message: string }} Finding */

/** What is not linted, and what may stay; each with its reason. */
export function readExceptions(file = join(import.meta.dirname, 'exceptions.json')) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** @returns the linted paths in the repository, below `paths` when there are any */
export function lintedFiles(root, { ignored }, paths = []) {
  const tracked = execFileSync('git', ['ls-files', '-z', '--', ...paths], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const patterns = ignored.map(({ path }) => new RegExp(path));
  return tracked.split('\0').filter((path) => LINTED.test(path) && !patterns.some((pattern) => pattern.test(path)));
}

/** Lints files with Vale. @returns {Promise<Finding[]>} @throws RunError when Vale fails */
export async function lintFiles({ vale, root, files, allowed = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'uswarm-prose-'));
  try {
    for (const path of files) writeProse(join(folder, `${path}.txt`), path, readFileSync(join(root, path), 'utf8'));
    const { code, output } = await runQuietly(vale, ['--config', CONFIG, '--no-exit', '--output=JSON', folder], {
      cwd: folder,
    });
    if (code !== 0) throw new RunError(`Vale failed.\n${output}`);
    return readReport(JSON.parse(output), folder).filter((finding) => !isAllowed(finding, allowed));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeProse(target, path, text) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, extractProse(path, text));
}

function readReport(report, folder) {
  return Object.entries(report).flatMap(([file, alerts]) =>
    alerts.map(({ Line, Check, Match, Message }) => ({
      path: relative(folder, file).replace(/\.txt$/, ''),
      line: Line,
      rule: Check.replace('Uswarm.', ''),
      match: Match.replace(/\s+/g, ' '),
      message: Message.replace(/\s+/g, ' '),
    })),
  );
}

const isAllowed = ({ path, match }, allowed) =>
  allowed.some(
    (exception) => new RegExp(exception.path).test(path) && exception.match.toLowerCase() === match.toLowerCase(),
  );
