import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { repositoryRoot } from './environment.mjs';

/** Conventional Commits types that this repository uses. */
const TYPES = ['build', 'chore', 'ci', 'docs', 'feat', 'fix', 'perf', 'refactor', 'revert', 'style', 'test'];
const SUBJECT = new RegExp(`^(?:${TYPES.join('|')})(?:\\([a-z0-9-]+(?:, ?[a-z0-9-]+)*\\))?!?: (\\S.*)$`);
const LONGEST_SUBJECT = 100;
/** The commit that adds this file; older subjects are not checked. */
const SINCE = 'hack/run/commits.mjs';

/** @returns the problem with a commit subject, or `undefined` */
export function subjectProblem(subject) {
  if (subject.startsWith('Merge ')) return undefined;
  const description = SUBJECT.exec(subject)?.[1];
  if (description === undefined) return `must be "type(scope): description" with one of the types ${TYPES.join(', ')}`;
  if (subject.length > LONGEST_SUBJECT) return `must not be longer than ${LONGEST_SUBJECT} characters`;
  if (description.endsWith('.')) return 'must not end with a full stop';
  if (/^[A-Z][a-z]/.test(description)) return 'must start with a lower-case imperative verb after the colon';
  return undefined;
}

/** Checks the commits since this check exists; a shallow clone or an export has fewer or none of them. */
export function commitsStep(root = repositoryRoot) {
  return {
    name: 'commit subjects',
    run: async () => {
      const problems = newCommits(root).flatMap(({ hash, subject }) => {
        const problem = subjectProblem(subject);
        return problem === undefined ? [] : [`${hash} "${subject}": the subject ${problem}.`];
      });
      return { ok: problems.length === 0, output: problems.join('\n') };
    },
  };
}

/** @returns {{ hash: string, subject: string }[]} none when git or the check's first commit is missing */
export function newCommits(root) {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const first = git('log', '--diff-filter=A', '--format=%H', '--', SINCE).trim().split('\n').at(-1);
    if (!first) return [];
    const log = git('log', '--format=%h %s', `${first}..HEAD`).trim();
    return log === '' ? [] : log.split('\n').map((line) => split(line));
  } catch {
    return [];
  }
}

const split = (line) => ({ hash: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) });

/**
 * The hook `commit-msg` of lefthook.yml. It accepts the subjects of `git commit --fixup`, which a rebase removes.
 *
 * @param file contains the message, with comments of git @returns the exit code
 */
export function checkMessage(file) {
  const subject = readFileSync(file, 'utf8')
    .split('\n')
    .find((line) => line.trim() !== '' && !line.startsWith('#'));
  if (subject === undefined || /^(?:fixup|squash|amend)! /.test(subject)) return 0;
  const problem = subjectProblem(subject);
  if (problem === undefined) return 0;
  console.error(`"${subject}": the subject ${problem}.`);
  return 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = checkMessage(process.argv[2]);
