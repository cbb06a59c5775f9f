import type { ComponentProps, ReactNode } from 'react';
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

interface LinkProps {
  href: string;
  children: ReactNode;
  'aria-label'?: string;
}
export function ButtonLink({ look, size, ...props }: LinkProps & Look) {
  return <Link {...props} className={ui(namesOf({ look, size }))} />;
}
