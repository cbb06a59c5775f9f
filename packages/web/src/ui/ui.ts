import styles from './ui.module.css';

/** The classes of shared parts, for example `ui('row between')`, and one of the screen. */
export const ui = (names: string, own = ''): string =>
  [...names.split(' ').map((name) => styles[name]), own].filter(Boolean).join(' ');
