"""Charts that the papers' figures are drawn with; `discreet.charts` has what the product draws."""
