import type { ComponentProps } from 'react';
import { Link } from 'wouter';
import styles from './ui.module.css';

interface Look {
  /** Default: a plain button. */
  look?: 'primary' | 'danger' | 'quiet' | undefined;
  size?: 'small' | 'icon' | undefined;
}
const classOf = ({ look, size }: Look, more = ''): string =>
  [styles['button'], look && styles[look], size && styles[size], more].filter(Boolean).join(' ');

/** A button with an icon alone needs an `aria-label`. */
export function Button({ look, size, className, ...props }: ComponentProps<'button'> & Look) {
  return <button type="button" {...props} className={classOf({ look, size }, className)} />;
}

/** A link of the page that looks like a button. */
export function ButtonLink({ look, size, href, ...props }: { href: string; children: React.ReactNode } & Look) {
  return <Link {...props} href={href} className={classOf({ look, size })} />;
}
