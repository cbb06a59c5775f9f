/** Runs one program of an agent in a process with limits. A separate program, so that images have it beside `main`. */
// oxlint-disable-next-line import/no-unassigned-import
import '@uswarm/code-runner/program';
