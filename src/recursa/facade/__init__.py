"""The methods of Robot, grouped by what they answer."""
