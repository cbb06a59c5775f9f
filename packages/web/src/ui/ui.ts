import styles from './ui.module.css';

/** Classes for shared parts, for example `ui('row between')`, and one from the screen. */
export const ui = (names: string, own = ''): string =>
  [...names.split(' ').map((name) => styles[name]), own].filter(Boolean).join(' ');
