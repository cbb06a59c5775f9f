import { RunError } from '../run/run-error.mjs';

const HEADING = /^## .+$/gm;

const UNRELEASED = /^## Unreleased/;
const released = (version) =>
  new RegExp(String.raw`^## ${version.replaceAll('.', String.raw`\.`)} - \d{4}-\d{2}-\d{2}$`);

/** The text below a version's heading, which has a date. @throws RunError if the version is not released */
export function notesOf(changelog, version) {
  const { index, heading } = headingOf(changelog, released(version));
  if (heading === undefined)
    throw new RunError(
      `CHANGELOG.md has no section "## ${version} - <date>": cut the release first (npm run release -- --cut).`,
    );
  return sectionAt(changelog, index, heading);
}

/** Without the line breaks within a paragraph, which GitHub shows in the description of a release. */
export const unwrapped = (notes) => notes.replaceAll(/\n {2,}(?! |- |\d+\. )/g, ' ');

/** As `notesOf`, or the unreleased section's text. @throws RunError without both */
export function newestNotes(changelog, version) {
  for (const pattern of [released(version), UNRELEASED]) {
    const { index, heading } = headingOf(changelog, pattern);
    if (heading !== undefined) return sectionAt(changelog, index, heading);
  }
  throw new RunError(`CHANGELOG.md has no section for ${version}.`);
}

/** Gives the unreleased section a version and a date. @throws RunError without such a section */
export function releaseSection(changelog, version, date) {
  const { index, heading } = headingOf(changelog, UNRELEASED);
  if (heading === undefined) throw new RunError('CHANGELOG.md has no section "## Unreleased".');
  if (sectionAt(changelog, index, heading) === '') throw new RunError('CHANGELOG.md lists no unreleased change.');
  return `${changelog.slice(0, index)}## ${version} - ${date}${changelog.slice(index + heading.length)}`;
}

/** Adds an empty section for the next version above the newest one. */
export function withUnreleased(changelog, version) {
  const { index } = headingOf(changelog, /^## /);
  const [major, minor] = version.split('.');
  return `${changelog.slice(0, index)}## Unreleased (${major}.${minor})\n\n${changelog.slice(index)}`;
}

function headingOf(changelog, pattern) {
  const found = [...changelog.matchAll(HEADING)].find(([heading]) => pattern.test(heading));
  return { index: found?.index, heading: found?.[0] };
}

function sectionAt(changelog, index, heading) {
  const rest = changelog.slice(index + heading.length);
  const end = rest.search(/^## /m);
  return (end === -1 ? rest : rest.slice(0, end)).trim();
}
