import type { ComponentProps } from 'react';
import { Link } from 'wouter';
import { ui } from './ui.js';

interface Look {
  /** Default: a plain button. */
  look?: 'primary' | 'danger' | 'quiet' | undefined;
  size?: 'small' | 'icon' | undefined;
}
const namesOf = ({ look, size }: Look): string => ['button', look, size].filter(Boolean).join(' ');

/** A button with an icon alone needs an `aria-label`. */
export function Button({ look, size, className, ...props }: ComponentProps<'button'> & Look) {
  return <button type="button" {...props} className={ui(namesOf({ look, size }), className)} />;
}

/** A link of the page that looks like a button. */
export function ButtonLink({ look, size, ...props }: { href: string; children: React.ReactNode } & Look) {
  return <Link {...props} className={ui(namesOf({ look, size }))} />;
}
