/** Places where documentation names the current version, such as image references. */
const EXAMPLES =
  /(?:uswarm(?:\/[a-z-]+)?:|targetRevision: v?|^uswarm |has its own version \(|--version |(?:uswarm\/|checkout )v)(\d+\.\d+\.\d+)/gm;

/** The minor version after `version`, which is what the main branch has after a release. */
export function nextMinor(version) {
  const [major, minor] = version.split('.').map(Number);
  return `${major}.${minor + 1}.0`;
}

/** The `package.json` files that have the version, relative to `root`. */
export const versionedPackages = (glob, root) => [
  'package.json',
  ...glob('{bench,charts,e2e,evals}/package.json', { cwd: root }),
  ...glob('{packages,services,examples}/*/package.json', { cwd: root }),
];

/** Documents with examples of the version, relative to `root`. */
export const versionedDocuments = (glob, root) => glob('{README.md,{deploy,docs}/**/*.md}', { cwd: root });

/** All files with the version that are not generated, relative to `root`. */
export const versionedFiles = (glob, root) => [
  ...versionedPackages(glob, root),
  ...versionedDocuments(glob, root),
  'charts/uswarm/Chart.yaml',
];

/** The versions in a document's examples. */
export const exampleVersions = (text) => [...text.matchAll(EXAMPLES)].map(([, version]) => version);

/** A file's text with the version `to` instead of `from`. */
export function setVersion(file, text, from, to) {
  if (file.endsWith('package.json')) return text.replace(`"version": "${from}"`, `"version": "${to}"`);
  if (file.endsWith('Chart.yaml')) return text.replaceAll(/^((?:appV|v)ersion: ).+$/gm, (_line, key) => `${key}${to}`);
  return text.replaceAll(EXAMPLES, (example, version) =>
    version === from ? example.slice(0, -from.length) + to : example,
  );
}
