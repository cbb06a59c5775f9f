import type { ComponentProps } from 'react';
import { Icon } from './icon.js';
import { ui } from './ui.js';

/** An input with its label above it. */
export function Field({ label, ...props }: ComponentProps<'input'> & { label: string }) {
  return (
    <label className={ui('field')}>
      {label}
      <input className={ui('input')} {...props} />
    </label>
  );
}

/** Several lines of text with their label above them. */
export function TextField({ label, ...props }: ComponentProps<'textarea'> & { label: string }) {
  return (
    <label className={ui('field')}>
      {label}
      <textarea className={ui('input')} rows={4} {...props} />
    </label>
  );
}

type SearchProps = Omit<ComponentProps<'input'>, 'onChange'> & { label: string; onSearch: (words: string) => void };
/** Searches while the user types. */
export function SearchField({ label, onSearch, className, ...props }: SearchProps) {
  return (
    <label className={ui('input search', className)}>
      <Icon name="search" size={16} />
      <span className="hidden">{label}</span>
      <input type="search" placeholder="Search" onChange={(event) => onSearch(event.target.value)} {...props} />
    </label>
  );
}
