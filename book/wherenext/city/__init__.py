"""A simulated city and its people: every choice is known, whether it was a return, and why.

`wherenext.city.simulation` puts it together from the places (`places`, `map`, `names`,
`streets`), the people (`people`) and their days (`days`, `hours`); `fixes` follows the people with
a receiver, `realism` compares them with real people, and `recency_world` is a smaller world with
one known law.
"""

from wherenext.city.simulation import FIRST_MONDAY, City, load, save, simulate

__all__ = ["FIRST_MONDAY", "City", "load", "save", "simulate"]
